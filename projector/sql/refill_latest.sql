-- The newest capture, but for orphans, of each pair of which observations has
-- orphans. By the key of observations.
INSERT INTO latest_observations (
    item, site, captured_at, epoch, seq, capture, outcome, offer, currency, price_minor, shipping_minor, merchant,
    is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text
)
WITH arraySort(x -> tupleElement(x, 1), groupArray((
    offer, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text))) AS rows
SELECT
    item, site, captured_at, epoch, seq, capture, any(outcome),
    rows.1, rows.2, rows.3, rows.4, rows.5, rows.6, rows.7, rows.8, rows.9, rows.10, rows.11, rows.12
FROM observations
WHERE (item, site) IN (SELECT item, site FROM observations WHERE {orphan})
  AND (item, site, (captured_at, epoch, seq, capture)) IN (
      SELECT item, site, max((captured_at, epoch, seq, capture))
      FROM observations
      WHERE (item, site) IN (SELECT item, site FROM observations WHERE {orphan}) AND NOT ({orphan})
      GROUP BY item, site)
  AND {{not deposed}}
GROUP BY item, site, captured_at, epoch, seq, capture
