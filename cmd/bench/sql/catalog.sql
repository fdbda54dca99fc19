INSERT INTO items (item, ean, pzn, asin, asin_locale, name, brand, manufacturer, version)
SELECT item, ean, '', '', '', name, brand, maker, 1 FROM bench_items;

INSERT INTO mandates (mandate, name, package_name, max_items, version)
SELECT number + 1, concat('Mandate ', toString(number + 1)), 'all', 1000000, 1 FROM numbers({{.Mandates}});

INSERT INTO accounts (account, mandate, login_identifier, password_hash, administrative, disabled, permissions, all_orders, orders, all_sites, sites, version)
SELECT 1000 + number + 1, number + 1, concat('bench', toString(number + 1), '@example.com'), '', 0, 0, ['sites', 'items', 'orders', 'results', 'files'], 1, [], 1, [], 1
FROM numbers({{.Mandates}});

INSERT INTO orders (mandate, order_id, alias, name, active, created_at, items, sites, interval_minutes, last_run_at, next_run_at, counters, version)
SELECT
    mandate, mandate * 100 + crawled + 1, '', concat('Order ', toString(crawled + 1)), 1, fromUnixTimestamp64Milli({{.CreatedMs}}, 'UTC'),
    arraySort(groupArray(item)),
    arrayConcat(
        arrayMap(k -> concat('shop-', leftPad(toString(crawled * {{.Shops}} + k + 1), 2, '0'), '.example'), range({{.Shops}})),
        [concat('markt-', ['de', 'at', 'fr', 'it'][1 + crawled % {{.Markets}}], '.example')]),
    60, NULL, NULL, [], 1
FROM (SELECT item, arrayJoin(mandates) AS mandate, intDiv(item - {{.FirstItem}}, {{.PerGroup}}) AS crawled FROM bench_items)
GROUP BY mandate, crawled;

INSERT INTO scope_pairs (mandate, version, item, site, orders)
SELECT mandate, 1, arrayJoin(items) AS item, arrayJoin(sites) AS site, [order_id] FROM orders FINAL;

INSERT INTO scopes (mandate, version, pairs, items)
SELECT mandate, 1, count(), uniqExact(item) FROM scope_pairs GROUP BY mandate;

INSERT INTO scopes_applied (mandate, partition, version)
SELECT mandate, 0, 1 FROM scopes;

INSERT INTO reference_prices (mandate, item, prices, version)
SELECT arrayJoin(mandates) AS mandate, item, [(base, 'EUR', '', '', '')], 1 FROM bench_items WHERE cityHash64(item, 'reference') % 5 = 0;
