-- Ends the deletions that an earlier leader began.
KILL MUTATION WHERE database = currentDatabase() AND table = 'observations_by_mandate' AND NOT is_done
