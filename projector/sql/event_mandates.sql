-- The rows of an event by mandate. No key has the sequence: it reads two columns of all rows.
SELECT o.mandate AS mandate, any(m.name) AS name, count() AS n
FROM observations_by_mandate AS o
LEFT JOIN (SELECT mandate, name FROM mandates FINAL) AS m ON m.mandate = o.mandate
WHERE o.epoch = {epoch:UInt32} AND o.seq = {seq:UInt64}
GROUP BY mandate
ORDER BY mandate
