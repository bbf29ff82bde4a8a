set local search_path to pg_catalog, pg_temp;
set local lock_timeout = '5s';
