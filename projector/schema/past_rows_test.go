package schema_test

// rowsSince are the rows that a new past golden gets, by the version that
// created their table: those of a small market that today's reads can answer
// for. They are used once; rows of versions that have a golden never change.
var rowsSince = map[int][]string{
	1: {`INSERT INTO observations VALUES
		(1, 'alpha.example', '2026-10-01 10:00:00.001', 1700000000, 1, 0, 0, 'priceObserved', 'EUR', 1999, 490, 'Händler''s \\ "Shop"', 2, 1, 45, 'Maker GmbH', 'Titel\t1;\n', 'https://alpha.example/1', 'sofort'),
		(1, 'beta.example', '2026-10-01 10:00:00.002', 1700000000, 2, 0, 0, 'priceObserved', 'EUR', 2100, -1, 'B', 0, 0, 255, '', '', '', ''),
		(1, 'beta.example', '2026-10-01 10:00:00.002', 1700000000, 2, 0, 1, 'priceObserved', 'EUR', 2200, 0, 'C', 0, 0, 255, '', '', '', ''),
		(2, 'alpha.example', '2026-10-01 11:00:00.000', 1700000000, 3, 0, 0, 'unavailable', '', -1, -1, '', 0, 0, 255, '', '', '', '')`},
	2: {`INSERT INTO observations_by_mandate SELECT 2, -toUnixTimestamp64Milli(captured_at), * EXCEPT captured_at
		FROM observations WHERE item = 1 AND site = 'alpha.example'`},
	3: {`INSERT INTO latest_observations SELECT item, site, captured_at, epoch, seq, capture, outcome, groupArray(offer), groupArray(currency),
			groupArray(price_minor), groupArray(shipping_minor), groupArray(merchant), groupArray(is_prime), groupArray(is_buy_box),
			groupArray(rating_tenths), groupArray(manufacturer), groupArray(title), groupArray(url), groupArray(delivery_text)
		FROM (SELECT * FROM observations ORDER BY item, site, offer) GROUP BY item, site, captured_at, epoch, seq, capture, outcome`},
	4: {`INSERT INTO ingested_events VALUES ('00000000-0000-4000-8000-000000000001', 1700000000, 1, 1, 1),
		('00000000-0000-4000-8000-000000000002', 1700000000, 2, 1, 2), ('00000000-0000-4000-8000-000000000003', 1700000000, 3, 1, 1)`},
	5: {`INSERT INTO checkpoints VALUES ('OBSERVATIONS', 0, 1700000000, 3, '2026-10-01 11:00:01.000'), ('CATALOG', 0, 1700000000, 20, '2026-10-01 09:00:00.000')`},
	6: {
		`INSERT INTO scope_pairs VALUES (1, 7, 1, 'alpha.example', [101]), (1, 7, 1, 'beta.example', [101]), (1, 7, 2, 'alpha.example', [101]),
			(1, 7, 2, 'beta.example', [101]), (2, 1, 1, 'alpha.example', [201])`,
		`INSERT INTO scopes VALUES (1, 7, 4, 2), (2, 1, 1, 1)`,
		`INSERT INTO scopes_applied VALUES (1, 0, 7), (2, 0, 1)`,
		`INSERT INTO observations_by_mandate SELECT 1, -toUnixTimestamp64Milli(captured_at), * EXCEPT captured_at FROM observations`,
	},
	7: {
		`INSERT INTO sites VALUES ('alpha.example', 'Alpha', 'shop', 'DE', 'EUR', '', false, false, 7301444403200000001),
			('beta.example', 'Beta', 'shop', 'AT', 'EUR', 'Beta AG', false, false, 7301444403200000002)`,
		`INSERT INTO items VALUES (1, '4006381333931', '', '', '', 'Item 1', 'A', 'Maker GmbH', 7301444403200000003),
			(2, '', '01234562', 'B000000001', 'de', 'Item 2', 'B', '', 7301444403200000004)`,
		`INSERT INTO mandates VALUES (1, 'Mandate 1', 'small', 10, 7301444403200000005), (2, 'Mandate 2', 'small', 10, 7301444403200000006)`,
		// The password is "past password".
		`INSERT INTO accounts VALUES (11, 1, 'past@example.com', '` + pastHash + `', false, false,
			['sites', 'items', 'orders', 'results', 'files'], true, [], true, [], 7301444403200000007)`,
		`INSERT INTO orders VALUES (1, 101, 'alias', 'Order 1', true, '2026-09-01 00:00:00.000', [1, 2], ['alpha.example', 'beta.example'], 60,
			NULL, '2026-10-01 12:00:00.000', [('alpha.example', 2, 2, 1)], 7301444403200000008),
			(2, 201, '', 'Order 2', true, '2026-09-01 00:00:00.000', [1], ['alpha.example'], 0, NULL, NULL, [], 7301444403200000009)`,
		`INSERT INTO reference_prices VALUES (1, 1, [(1899, 'EUR', '', '1', 'uvp')], 7301444403200000010)`,
		`INSERT INTO customer_data VALUES (1, 1, 'Category', map('key', 'value'), 7301444403200000011)`,
		`INSERT INTO file_jobs VALUES (1, 'export', 101, 301, 'Export', '2026-09-02 00:00:00.000', 7301444403200000012)`,
		`INSERT INTO file_archives VALUES (1, 'export', 101, 401, 301, '2026-09-03 00:00:00.000', [('a.csv', 'a-1.csv', 3, '` + pastSum + `')], 7301444403200000013)`,
	},
	8: {`INSERT INTO leader_fences VALUES (0, 3, '2026-10-01 09:00:00.000')`},
	9: {`INSERT INTO orders VALUES (1, 102, '', 'Order 3', false, '2026-09-01 00:00:00.000', [2], ['beta.example'], 0, NULL, NULL, [], 7301444403200000014,
		true, [(2, 'beta.example')])`},
	13: {`INSERT INTO checkpoint_times VALUES (0, 0, 0, '1970-01-01 00:00:00.000'), (0, 1700000000, 2, '2026-10-01 10:00:01.000')`},
	14: {`INSERT INTO expired_rows VALUES (1700000000, 1, '2000-01-01', 1)`},
}

const (
	pastHash = "$argon2id$v=19$m=19456,t=2,p=1$Bel/juX7cL2j4LWoLd543g$odnlUHBqwI+h6s8w6ONCbl1vM4nR/pbN/KGrOS3advc"
	pastSum  = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)
