-- What was said of an effect that nobody knew the outcome of: an answer that comes later may tell otherwise.
ALTER TABLE effect ADD COLUMN said TEXT;
