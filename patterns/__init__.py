"""Rules and what runs them. `tidy.Pattern` is the base class of a rule of one's own."""
