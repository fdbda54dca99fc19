-- Deletes scopes that were replaced long ago.
DELETE FROM scope_pairs
WHERE ({which})
  AND {{leads}}
