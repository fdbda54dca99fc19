-- The version that observations_by_mandate reflects exactly, or a version
-- never in force while it is not exact.
INSERT INTO scopes_applied (mandate, partition, version)
SELECT {mandate:UInt64}, {partition:UInt16}, {version:UInt64}
WHERE {{not deposed}}
