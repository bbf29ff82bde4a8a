# `make install` runs this in a make of its own: PGXS sets VERSION and brings targets named check and clean.
EXTENSION = pgbaton
DATA_built = build/pgbaton--$(EXTVERSION).sql $(wildcard build/pgbaton--*--$(EXTVERSION).sql)
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)
