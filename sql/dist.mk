# The Makefile of the archive for PGXN: the scripts in it are built, so `make install` needs PGXS only.
EXTENSION = pgbaton
DATA = $(wildcard pgbaton--*.sql)
PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)
