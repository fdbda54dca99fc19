-- Rows of granted pairs from observations to observations_by_mandate: the
-- pairs of version that without has not, of the items from first to last.
-- With look, only rows that are not there yet.
INSERT INTO observations_by_mandate (
    mandate, captured_desc, item, site, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor,
    merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text
)
SELECT
    {mandate:UInt64}, -toUnixTimestamp64Milli(captured_at), item, site, epoch, seq, capture, offer, outcome, currency,
    price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text
FROM observations
WHERE captured_at >= fromUnixTimestamp64Milli({floor:Int64}, 'UTC')
  AND item >= {first:UInt64} AND item <= {last:UInt64}
  AND (item, site) IN (
      SELECT item, site FROM scope_pairs
      WHERE mandate = {mandate:UInt64} AND version = {version:UInt64} AND item >= {first:UInt64} AND item <= {last:UInt64})
  AND (item, site) NOT IN (
      SELECT item, site FROM scope_pairs
      WHERE mandate = {mandate:UInt64} AND version = {without:UInt64} AND item >= {first:UInt64} AND item <= {last:UInt64})
  AND (item, site, epoch, seq, capture, offer) NOT IN (
      SELECT item, site, epoch, seq, capture, offer FROM observations_by_mandate
      WHERE mandate = {mandate:UInt64} AND {look:Bool} AND item >= {first:UInt64} AND item <= {last:UInt64})
  AND {{not deposed}}
