-- Ends the deletions that an earlier leader began.
KILL MUTATION WHERE database = currentDatabase() AND table IN ('observations', 'observations_by_mandate', 'latest_observations') AND NOT is_done
