-- Mandates whose rows of observations_by_mandate are being deleted; 0: by a
-- statement that names none.
SELECT DISTINCT toUInt64OrZero(extract(command, 'mandate = (\\d+)')) AS mandate
FROM system.mutations
WHERE database = currentDatabase() AND table = 'observations_by_mandate' AND NOT is_done AND NOT is_killed
