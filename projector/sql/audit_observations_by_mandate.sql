-- Mandates and sequences of a slice where observations_by_mandate does not
-- hold what observations and the scope in force give: other numbers, or other
-- rows by {row}. By ix_seq of both tables.
SELECT mandate, epoch, seq, toUInt64(sum(due)) AS due, toUInt64(sum(held)) AS held
FROM (
    SELECT s.mandate AS mandate, o.epoch AS epoch, o.seq AS seq, count() AS due, 0 AS held, sum(row) AS due_rows, toUInt64(0) AS held_rows
    FROM (
        SELECT item, site, epoch, seq, {row} AS row
        FROM observations
        WHERE (epoch, seq) > ({after_epoch:UInt32}, {after_seq:UInt64}) AND (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64})
          AND captured_at >= fromUnixTimestamp64Milli({floor:Int64}, 'UTC')
    ) AS o
    INNER JOIN (
        SELECT mandate, item, site
        FROM scope_pairs
        WHERE (mandate, version) IN (SELECT mandate, max(version) FROM scopes GROUP BY mandate)
          AND mandate NOT IN {skip:Array(UInt64)}
    ) AS s ON o.item = s.item AND o.site = s.site
    GROUP BY mandate, epoch, seq
    UNION ALL
    SELECT mandate, epoch, seq, 0 AS due, count() AS held, toUInt64(0) AS due_rows, sum({row}) AS held_rows
    FROM observations_by_mandate
    WHERE (epoch, seq) > ({after_epoch:UInt32}, {after_seq:UInt64}) AND (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64})
      AND captured_desc <= -{floor:Int64}
      AND mandate NOT IN {skip:Array(UInt64)}
    GROUP BY mandate, epoch, seq
)
GROUP BY mandate, epoch, seq
HAVING due != held OR sum(due_rows) != sum(held_rows)
ORDER BY mandate, epoch, seq
