INSERT INTO bench_stage
WITH
    ['sofort lieferbar', 'Auf Lager', '1-3 Werktage', 'Lieferung morgen', 'in 2-4 Tagen bei Ihnen', 'versandfertig in 24 Stunden', 'Lieferzeit 5-7 Tage', 'nur noch wenige', 'Vorbestellung möglich', 'Abholung in Filiale', 'Zustellung Mo-Sa', ''] AS deliveries,
    ['Technik', 'Marken', 'Preis', 'Super', 'Nord', 'Elbe', 'Alpen', 'Rhein', 'Haus', 'Direkt', 'Profi', 'Best', 'Mega', 'City', 'Online', 'Premium', 'Smart', 'Familien', 'Blitz', 'König'] AS first_words,
    ['shop', 'welt', 'markt', 'handel', 'lager', 'kontor', 'depot', 'outlet', 'store', 'center', 'haus', 'versand', 'discount', 'galerie', 'eck', 'paradies'] AS second_words,
    [' GmbH', ' e.K.', ' UG', ' & Söhne', ' KG', ''] AS forms
SELECT
    item, site, fromUnixTimestamp64Milli(ms, 'UTC'), {{.Epoch}}, seq, capture, offer,
    outcome,
    if(priced, 'EUR', ''),
    if(priced, greatest(1, intDiv(base * (90 + cityHash64(item, site) % 20 + cityHash64(item, site, intDiv(ms, 21600000)) % 5), 100) + offer * (37 + item % 11)), -1),
    if(priced, [0, 0, 399, 499, 599, -1][1 + cityHash64(site, offer, item % 7) % 6], -1),
    multiIf(NOT priced, '', market, concat(first_words[1 + who % 20], second_words[1 + intDiv(who, 20) % 16], forms[1 + intDiv(who, 320) % 6]), concat('Shop ', toString(site_number + 1))),
    if(priced AND market, 1 + (cityHash64(item, offer, 'prime') % 3 = 0), 0),
    if(priced AND market, 1 + (offer = 0), 0),
    if(priced AND NOT market AND site_number % {{.Shops}} = 3, 30 + cityHash64(item, 'rating') % 21, 255),
    if(priced, [maker, upper(brand), brand][1 + site_number % 3], ''),
    if(priced, concat(name, ['', ' | Neu', ' - günstig kaufen', ', NEU & OVP', ' bei uns'][1 + site_number % 5]), ''),
    if(priced, concat('https://www.', site, '/p/', slug, '-', toString(item), if(market, concat('?m=', toString(who)), '?ref=pm')), ''),
    if(priced, deliveries[1 + cityHash64(item, site, intDiv(ms, 86400000), 'delivery') % 12], ''),
    mandates
FROM (
    SELECT *, cityHash64({{.Seed}}, 'merchant', item, offer) % 1920 AS who
    FROM (
        SELECT *, arrayJoin(range(if(outcome = 1 AND market, 1 + cityHash64({{.Seed}}, 'offers', item) % 5, 1))) AS offer
        FROM (
            SELECT
                intDiv(number, {{.PerEvent}}) + 1 AS seq,
                number % {{.PerEvent}} AS capture,
                cityHash64({{.Seed}}, 'run', seq) AS run,
                run % {{.Groups}} AS crawled,
                intDiv(run, {{.Groups}}) % ({{.Shops}} + 1) AS place,
                place = {{.Shops}} AS market,
                if(market, {{.Groups}} * {{.Shops}} + crawled % {{.Markets}}, crawled * {{.Shops}} + place) AS site_number,
                if(market, concat('markt-', ['de', 'at', 'fr', 'it'][1 + crawled % {{.Markets}}], '.example'), concat('shop-', leftPad(toString(site_number + 1), 2, '0'), '.example')) AS site,
                {{.FirstItem}} + crawled * {{.PerGroup}}
                    + toUInt64(floor({{.PerGroup}} * pow((cityHash64({{.Seed}}, 'item', number) % 1000000007) / 1000000007., {{.Skew}}))) AS item,
                cityHash64({{.Seed}}, 'outcome', number) % 100 AS luck,
                multiIf(luck < 96, 1, luck < 98, 2, luck = 98, 3, 4) AS outcome,
                outcome = 1 AS priced,
                {{.StartMs}} + intDiv(toInt64(seq - 1) * {{.EventMicros}}, 1000) + toInt64(capture) * 310 + toInt64(cityHash64({{.Seed}}, 'time', number) % 300)
                    - if(intDiv(run, 1000) % 100 < {{.Late}}, toInt64(cityHash64(run, 'late') % 259200000), 0) AS ms
            FROM numbers({{.From}}, {{.Captures}})
        )
    )
) AS captures
INNER JOIN bench_items AS b ON b.item = captures.item
SETTINGS max_block_size = 65536;

INSERT INTO observations (item, site, captured_at, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text)
SELECT item, site, captured_at, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text
FROM bench_stage
SETTINGS async_insert = 0, min_insert_block_size_rows = 1000000, min_insert_block_size_bytes = 0;

INSERT INTO observations_by_mandate (mandate, item, site, captured_desc, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text)
SELECT arrayJoin(mandates), item, site, -toUnixTimestamp64Milli(captured_at), epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text
FROM bench_stage
SETTINGS async_insert = 0, min_insert_block_size_rows = 1000000, min_insert_block_size_bytes = 0;

INSERT INTO ingested_events (event_id, epoch, seq, captures, rows)
SELECT reinterpretAsUUID(MD5(concat('event', toString(seq)))), epoch, seq, uniqExact(capture), count()
FROM bench_stage
GROUP BY epoch, seq
SETTINGS async_insert = 0;

TRUNCATE TABLE bench_stage;
