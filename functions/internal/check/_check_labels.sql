create or replace function pgbaton._check_labels(job_type text, tags text[])
returns void
language plpgsql immutable parallel safe
as $$
begin
    if octet_length(job_type) > 255 or octet_length(array_to_string(tags, ' ')) > 1024 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = 'job_type is above 255 bytes or the tags together are above 1024',
            hint = 'They are short routing labels; put data in the payload.';
    end if;
end;
$$;
comment on function pgbaton._check_labels(text, text[]) is
'Raises 22023 for a job type or tags that are longer than a lane has them; tags: as _normal_tags returns them.';
