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
    currency, price_minor, merchant
FROM observations_by_mandate_all
WHERE mandate = {mandate:UInt64}
      AND site = {site:String}
      AND epoch = {mark_epoch:UInt32} AND seq <= {mark_seq:UInt64}
      AND seq >= {after_seq:UInt64} AND (seq, capture, offer) > ({after_seq:UInt64}, {after_capture:UInt16}, {after_offer:UInt16})
      AND merchant = {merchant:String}
ORDER BY epoch, seq, capture, offer
LIMIT {limit:UInt64}

-- values
-- after_capture = 7
-- after_offer = 8
-- after_seq = 6
-- limit = 11
-- mandate = 7
-- mark_epoch = 5
-- mark_seq = 99
-- merchant = M
-- site = a.example
-- version = 3
