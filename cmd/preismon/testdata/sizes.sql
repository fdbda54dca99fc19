INSERT INTO items (item, ean, pzn, asin, asin_locale, name, brand, manufacturer, version)
SELECT 1000000 + number, concat('40', leftPad(toString(number), 11, '0')), '', '', '',
    concat('Product ', toString(number), ' with a name of the usual length, 750 ml'), concat('Brand ', toString(number % 500)), concat('Maker ', toString(number % 300)), 1
FROM numbers(10000000);

INSERT INTO sites (site, name, site_type, country_code, currency, operator, canonical_country_market, price_comparison_market, version)
SELECT concat('shop-', leftPad(toString(number), 2, '0'), '.example'), concat('Shop ', toString(number)), 'shop', 'DE', 'EUR', '', 0, 0, 1
FROM numbers(100);

INSERT INTO mandates (mandate, name, package_name, max_items, version)
SELECT number, concat('Mandate ', toString(number)), 'all', 1000000, 1
FROM numbers(1, 10000);

INSERT INTO accounts (account, mandate, login_identifier, password_hash, administrative, disabled, permissions, all_orders, orders, all_sites, sites, version)
SELECT mandate, mandate, concat('account', toString(mandate), '@example.com'), '', 0, 0, ['sites', 'items', 'orders', 'results'], 1, [], 1, [], 1
FROM mandates;

-- The first mandate has 2,500 items all over the catalogue at 100 sites, each
-- other one 40 items of its own at five.
INSERT INTO orders (mandate, order_id, alias, name, active, created_at, items, sites, interval_minutes, last_run_at, next_run_at, counters, version)
SELECT mandate, mandate, '', concat('Order ', toString(mandate)), 1, toDateTime64('2026-01-01 00:00:00', 3, 'UTC'),
    if(mandate = 1, arrayMap(n -> 1000001 + 4000 * n, range(2500)), arrayMap(n -> 1000000 + 1000 * (mandate - 1) + 25 * n, range(40))),
    arrayMap(n -> concat('shop-', leftPad(toString(if(mandate = 1, n, 20 * n + mandate % 20)), 2, '0'), '.example'), range(if(mandate = 1, 100, 5))),
    60, NULL, NULL, [], 1
FROM mandates;

INSERT INTO scope_pairs (mandate, version, item, site, orders)
SELECT mandate, 1, arrayJoin(items) AS item, arrayJoin(sites) AS site, [order_id] FROM orders;

INSERT INTO scopes (mandate, version, pairs, items)
SELECT mandate, 1, count(), uniqExact(item) FROM scope_pairs GROUP BY mandate;

INSERT INTO scopes_applied (mandate, partition, version)
SELECT mandate, 0, 1 FROM scopes;

-- An observation of each pair of the first mandate, and of two items of each
-- other one, in the last day of the data.
INSERT INTO observations_by_mandate (mandate, captured_desc, item, site, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text)
SELECT mandate, -(toUnixTimestamp64Milli(toDateTime64('2026-03-01 00:00:00', 3, 'UTC')) - 1 - cityHash64(item, site) % 86400000), item, site,
    1, 1 + intDiv(n, 1000), n % 1000, 0, 'priceObserved', 'EUR', 100 + cityHash64(site, item) % 100000, 499, concat('Merchant ', toString(item % 1000)), 0, 0, 255, '', '', '', ''
FROM (SELECT mandate, item, site, rowNumberInAllBlocks() AS n FROM (SELECT * FROM scope_pairs WHERE mandate = 1 OR item % 1000 < 50 ORDER BY mandate, item, site));

INSERT INTO observations (item, site, captured_at, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text)
SELECT item, site, captured_at, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text
FROM observations_by_mandate;

INSERT INTO latest_observations (item, site, captured_at, epoch, seq, capture, outcome, offer, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text)
SELECT item, site, captured_at, epoch, seq, capture, outcome, [offer], [currency], [price_minor], [shipping_minor], [merchant], [is_prime], [is_buy_box], [rating_tenths], [manufacturer], [title], [url], [delivery_text]
FROM observations;

INSERT INTO checkpoints (stream, partition, epoch, seq) VALUES ('OBSERVATIONS', 0, 1, 1000), ('CATALOG', 0, 1, 1), ('IN_FORCE', 0, 1, 1)
