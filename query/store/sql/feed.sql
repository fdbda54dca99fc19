-- Rows behind a place in the order in which they became visible, up to a place
-- of the stream. Table observations_by_mandate: the range of the mandate in its
-- key, cut down by ix_seq. Bounds of epoch and seq stand alone beside those of
-- the whole place, for an index is of no use to a comparison of tuples. Nearly
-- always both places are of one epoch and between events: then fewer conditions
-- say the same, and the statement takes a third less time. Several
-- mandates that ask for the same share the statement: small ones lie in the
-- same granules, and rows of one are given apart from those of another.
SELECT
    item, site, -captured_desc AS captured_ms, epoch, seq, capture, offer, toUInt8(outcome) AS outcome_code,
    {{template "offered" .}}
{{- if .Mandates}},
    mandate
{{- end}}
FROM {{.Shards.All "observations_by_mandate"}}
WHERE {{template "history_of" .}}
{{- if .OneEpoch}}
      AND epoch = {mark_epoch:UInt32} AND seq <= {mark_seq:UInt64}
      AND {{if .Between}}seq > {after_seq:UInt64}{{else}}seq >= {after_seq:UInt64} AND (seq, capture, offer) > ({after_seq:UInt64}, {after_capture:UInt16}, {after_offer:UInt16}){{end}}
{{- else}}
      AND epoch >= {after_epoch:UInt32} AND (epoch > {after_epoch:UInt32} OR seq >= {after_seq:UInt64})
      AND epoch <= {mark_epoch:UInt32} AND (epoch < {mark_epoch:UInt32} OR seq <= {mark_seq:UInt64})
      AND (epoch, seq, capture, offer) > ({after_epoch:UInt32}, {after_seq:UInt64}, {after_capture:UInt16}, {after_offer:UInt16})
{{- end}}
{{- template "filters" .}}
ORDER BY {{if .Mandates}}mandate, {{end}}epoch, seq, capture, offer
LIMIT {limit:UInt64}
{{- if .Mandates}} BY mandate
{{- end}}
