-- Gives observations the orphans that only latest_observations has, so that
-- their pairs are known as long as there is anything to do.
INSERT INTO observations (
    item, site, captured_at, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant,
    is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text
)
SELECT
    item, site, captured_at, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant,
    is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text
FROM latest_observations FINAL
ARRAY JOIN
    offer, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url,
    delivery_text
WHERE {orphan}
  AND (item, site) NOT IN (SELECT item, site FROM observations WHERE {orphan})
  AND {{not deposed}}
