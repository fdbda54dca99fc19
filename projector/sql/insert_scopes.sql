-- The version of a mandate's scope that is in force from now.
INSERT INTO scopes (mandate, version, pairs, items)
SELECT {mandate:UInt64}, {version:UInt64}, {pairs:UInt64}, {items:UInt64}
WHERE {{not deposed}}
