-- Mandates that still have pairs of scopes that were replaced long ago.
SELECT DISTINCT mandate
FROM scope_pairs
WHERE {which}
