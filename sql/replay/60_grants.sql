-- Always: also where rows are replicated, or restored without triggers.
create or replace trigger note_grant
after insert on pgbaton.queue_grant
for each statement execute function pgbaton._note_grant();
alter table pgbaton.queue_grant enable always trigger note_grant;
