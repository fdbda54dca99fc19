-- The version of a mandate's scope that is in force from now.
INSERT INTO scopes (mandate, version, pairs, items)
SELECT {mandate:UInt64}, {version:UInt64}, {pairs:UInt64}, {items:UInt64}
WHERE throwIf((SELECT max((fence, toUnixTimestamp64Milli(written_at))) FROM leader_fences WHERE partition = {partition:UInt16}) > ({fence:UInt64}, {begun:Int64}), 'deposed') = 0
