-- Deletes a mandate's rows of pairs that the version of its scope has not.
-- It deletes nothing when a newer leader has begun, nor when the version's
-- pairs are no longer all there.
DELETE FROM observations_by_mandate
WHERE mandate = {mandate:UInt64}
  AND (item, site) NOT IN (SELECT item, site FROM scope_pairs WHERE mandate = {mandate:UInt64} AND version = {version:UInt64})
  AND (SELECT count() FROM scope_pairs WHERE mandate = {mandate:UInt64} AND version = {version:UInt64}) = {pairs:UInt64}
  AND {{leads}}
