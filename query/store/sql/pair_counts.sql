-- How many pairs a read is about, counted no further than to at_most, and how
-- many its mandate has. Table scope_pairs, key (mandate, version, item, site).
SELECT
    (SELECT count() FROM (
        {{template "pairs" .}}
        LIMIT {at_most:UInt64}
    )) AS wanted,
    (SELECT count() FROM scope_pairs WHERE mandate = {mandate:UInt64} AND {{template "version" .}}) AS pairs
