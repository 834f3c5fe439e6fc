-- Writing calls of conversations, in their order: one that is asked for again is held against those before it. `scope` is
-- caller, user, conversation and plugin; `same` is what makes two calls the same action.
CREATE TABLE guard (
    scope  BLOB NOT NULL,
    number INTEGER NOT NULL,
    run    BLOB NOT NULL,
    same   BLOB NOT NULL,
    PRIMARY KEY (scope, number)
) WITHOUT ROWID;

-- Whether the result of such a call has reached whoever asked: 0 not yet, 1 it has; nothing where nobody need know.
ALTER TABLE run ADD COLUMN delivered INTEGER;
