set local search_path to pg_catalog, pg_temp;
set local lock_timeout = '5s';
-- What is dropped may not be there.
set local client_min_messages = warning;
