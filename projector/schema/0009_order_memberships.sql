-- Orders that were taken over from an older system, and where each of their
-- items is a member of them as that system has it: text, maybe malformed.
ALTER TABLE orders {{on_cluster}} ADD COLUMN IF NOT EXISTS legacy Bool;

ALTER TABLE orders {{on_cluster}} ADD COLUMN IF NOT EXISTS memberships Array(Tuple(item UInt64, sites String));
