"""Values: symbolic numbers, shapes, types, what a name can be, what a rewrite plans to say of it."""
