INSERT INTO {{.Database}}.scope_pairs (mandate, version, item, site, orders)
SELECT {{.Mandate}}, 1, {{.FirstItem}} + number, 'shop-01.example', [1] FROM numbers({{.Products}});

INSERT INTO {{.Database}}.scopes (mandate, version, pairs, items) VALUES ({{.Mandate}}, 1, {{.Products}}, {{.Products}});

INSERT INTO {{.Database}}.scopes_applied (mandate, partition, version) VALUES ({{.Mandate}}, 0, 1);

INSERT INTO {{.Database}}.observations_by_mandate
    (mandate, captured_desc, item, site, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths)
SELECT
    {{.Mandate}}, -({{.EndMs}} - intDiv(number, {{.Products}}) * 43200000 - number % {{.Products}}), {{.FirstItem}} + number % {{.Products}}, 'shop-01.example',
    {{.Epoch}}, 1, 0, 0, 'priceObserved', 'EUR', 1000 + cityHash64(number) % 500, -1, concat('Shop ', toString(number % 7)), 0, 0, 255
FROM numbers({{.Products}} * 2 * ({{.Days}} + 1));
