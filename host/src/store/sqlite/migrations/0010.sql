-- Budgets and costs: what a run holds and on which day, sums per budget and day, and the tokens behind what a model cost.
ALTER TABLE run ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN held_on INTEGER;

-- What was spent of each budget on each day, and what runs under way hold of it. A day is counted from 1970, in UTC;
-- caller and user are empty in the row of all callers, and user in that of a caller.
CREATE TABLE budget (
    day    INTEGER NOT NULL,
    caller TEXT NOT NULL,
    user   TEXT NOT NULL,
    spent  INTEGER NOT NULL,
    held   INTEGER NOT NULL,
    PRIMARY KEY (day, caller, user)
) WITHOUT ROWID;

-- What a model read and wrote, and whether there was a price for it.
ALTER TABLE cost ADD COLUMN input_tokens INTEGER;
ALTER TABLE cost ADD COLUMN output_tokens INTEGER;
ALTER TABLE cost ADD COLUMN priced INTEGER NOT NULL DEFAULT 1;
