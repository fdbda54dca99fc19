-- Rows of a mandate whose pair is not in the version of its scope: by the key
-- of observations_by_mandate.
SELECT count() AS n
FROM observations_by_mandate
WHERE mandate = {mandate:UInt64}
  AND (item, site) NOT IN (SELECT item, site FROM scope_pairs WHERE mandate = {mandate:UInt64} AND version = {version:UInt64})
