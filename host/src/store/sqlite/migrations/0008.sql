-- What the agent said of itself: the model that asked, and why. `reason` goes with the texts of the run.
ALTER TABLE run ADD COLUMN model TEXT;
ALTER TABLE run ADD COLUMN reason TEXT;

-- The runs of one conversation, in their order.
CREATE INDEX run_of_trace ON run (trace, id);
