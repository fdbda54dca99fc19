-- What a server has left of its fullest disk. Table system.disks.
SELECT free_space AS free, total_space AS total
FROM system.disks
WHERE NOT is_remote
ORDER BY free_space / total_space
LIMIT 1
