INSERT INTO latest_observations (item, site, captured_at, epoch, seq, capture, outcome, offer, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text)
SELECT
    item, site, captured_at, epoch, seq, capture, any(outcome), groupArray(offer), groupArray(currency), groupArray(price_minor), groupArray(shipping_minor), groupArray(merchant),
    groupArray(is_prime), groupArray(is_buy_box), groupArray(rating_tenths), groupArray(manufacturer), groupArray(title), groupArray(url), groupArray(delivery_text)
FROM (
    SELECT * FROM observations
    WHERE (item, site, captured_at, epoch, seq, capture) IN (
        SELECT item, site, tupleElement(newest, 1), tupleElement(newest, 2), tupleElement(newest, 3), tupleElement(newest, 4)
        FROM (SELECT item, site, max((captured_at, epoch, seq, capture)) AS newest FROM observations GROUP BY item, site)
    )
    ORDER BY item, site, captured_at, epoch, seq, capture, offer
)
GROUP BY item, site, captured_at, epoch, seq, capture
SETTINGS async_insert = 0;

INSERT INTO checkpoints (stream, partition, epoch, seq) VALUES ('OBSERVATIONS', 0, {{.Epoch}}, {{.Events}}), ('CATALOG', 0, {{.Epoch}}, 1), ('IN_FORCE', 0, {{.Epoch}}, 1);

DROP TABLE bench_stage;

DROP TABLE bench_items;
