-- Everything the catalog knows of the schema pgbaton, one fact a line: kind, object, fact.
-- Two installations are the same when these lines are. Days are taken out of the names and bounds of partitions.
with relations as (
    select c.* from pg_class as c where c.relnamespace = 'pgbaton'::regnamespace
),

routines as (
    select p.* from pg_proc as p where p.pronamespace = 'pgbaton'::regnamespace
),

types as (
    select t.* from pg_type as t where t.typnamespace = 'pgbaton'::regnamespace
),

facts (kind, object, fact) as (
    select 'schema', n.nspname::text, concat_ws(
        ' | ', n.nspowner::regrole, obj_description(n.oid, 'pg_namespace')
    )
    from pg_namespace as n where n.oid = 'pgbaton'::regnamespace

    union all
    select 'relation', r.oid::regclass::text, concat_ws(
        ' | ', r.relkind, r.relpersistence, r.relowner::regrole, 'replica identity ' || r.relreplident::text,
        format('row security %s %s', r.relrowsecurity, r.relforcerowsecurity), am.amname, ts.spcname,
        (select string_agg(o, ', ' order by o) from unnest(r.reloptions) as o),
        (select 'toast ' || string_agg(o, ', ' order by o) from pg_class as t, unnest(t.reloptions) as o where t.oid = r.reltoastrelid),
        pg_get_partkeydef(r.oid), pg_get_expr(r.relpartbound, r.oid), r.reloftype::regtype
    )
    from relations as r
    left join pg_am as am on am.oid = r.relam
    left join pg_tablespace as ts on ts.oid = r.reltablespace

    union all
    select 'parent', i.inhrelid::regclass::text, i.inhparent::regclass::text
    from pg_inherits as i inner join relations as r on r.oid = i.inhrelid

    union all
    select 'comment', pg_describe_object(d.classoid, d.objoid, d.objsubid), d.description
    from pg_description as d
    where (d.classoid = 'pg_class'::regclass and d.objoid in (select oid from relations))
        or (d.classoid = 'pg_proc'::regclass and d.objoid in (select oid from routines))
        or (d.classoid = 'pg_type'::regclass and d.objoid in (select oid from types))
        or (d.classoid = 'pg_constraint'::regclass and d.objoid in (select oid from pg_constraint where connamespace = 'pgbaton'::regnamespace))
        or (d.classoid = 'pg_trigger'::regclass and d.objoid in (select oid from pg_trigger where tgrelid in (select oid from relations)))

    union all
    select 'column', r.oid::regclass || '.' || a.attname, concat_ws(
        ' | ', row_number() over (partition by r.oid order by a.attnum), format_type(a.atttypid, a.atttypmod),
        case when a.attnotnull then 'not null' end, pg_get_expr(d.adbin, d.adrelid),
        'identity ' || nullif(a.attidentity::text, ''), 'generated ' || nullif(a.attgenerated::text, ''),
        a.attstorage, 'compression ' || nullif(a.attcompression::text, ''), 'statistics ' || a.attstattarget,
        (select string_agg(o, ', ' order by o) from unnest(a.attoptions) as o where o not like 'pg\_attver=%'), c.collname
    )
    from relations as r
    inner join pg_attribute as a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef as d on d.adrelid = r.oid and d.adnum = a.attnum
    left join pg_collation as c on c.oid = a.attcollation

    union all
    select 'constraint', concat_ws(' ', nullif(k.conrelid, 0)::regclass, nullif(k.contypid, 0)::regtype, k.conname), concat_ws(
        ' | ', k.contype, pg_get_constraintdef(k.oid), k.convalidated, k.condeferrable, k.condeferred, case when k.contype = 'c' then k.connoinherit end
    )
    from pg_constraint as k where k.connamespace = 'pgbaton'::regnamespace

    union all
    select 'index', i.indexrelid::regclass::text, concat_ws(
        ' | ', pg_get_indexdef(i.indexrelid), i.indisvalid, i.indisclustered, i.indisreplident, i.indimmediate
    )
    from pg_index as i where i.indrelid in (select oid from relations)

    union all
    select 'sequence', s.seqrelid::regclass::text, concat_ws(
        ' | ', s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, s.seqcycle,
        (
            select 'of ' || pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid) from pg_depend as d
            where d.classid = 'pg_class'::regclass and d.objid = s.seqrelid and d.deptype in ('a', 'i')
        )
    )
    from pg_sequence as s where s.seqrelid in (select oid from relations)

    union all
    select 'view', r.oid::regclass::text, pg_get_viewdef(r.oid)
    from relations as r where r.relkind in ('v', 'm')

    union all
    select 'rule', w.ev_class::regclass || ' ' || w.rulename, pg_get_ruledef(w.oid) || ' ' || w.ev_enabled::text
    from pg_rewrite as w where w.ev_class in (select oid from relations)

    union all
    select 'trigger', t.tgrelid::regclass || ' ' || t.tgname, pg_get_triggerdef(t.oid) || ' ' || t.tgenabled::text
    from pg_trigger as t where t.tgrelid in (select oid from relations) and not t.tgisinternal

    union all
    select 'policy', p.polrelid::regclass || ' ' || p.polname, concat_ws(
        ' | ', p.polcmd, p.polpermissive, pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)
    )
    from pg_policy as p where p.polrelid in (select oid from relations)

    union all
    select 'statistics', x.stxname::text, pg_get_statisticsobjdef(x.oid)
    from pg_statistic_ext as x where x.stxnamespace = 'pgbaton'::regnamespace

    union all
    select 'function', p.oid::regprocedure::text, concat_ws(
        ' | ', pg_get_functiondef(p.oid), p.proowner::regrole, p.provolatile, p.proparallel, p.procost, p.prorows,
        p.prosecdef, p.proleakproof, p.proisstrict, p.proconfig
    )
    from routines as p

    union all
    select 'type', t.oid::regtype::text, concat_ws(
        ' | ', t.typtype, t.typowner::regrole, nullif(t.typbasetype, 0)::regtype, t.typnotnull, t.typdefault,
        (select string_agg(e.enumlabel, ', ' order by e.enumsortorder) from pg_enum as e where e.enumtypid = t.oid)
    )
    from types as t

    union all
    select 'grant', g.object, concat_ws(' | ', g.grantee, g.privilege_type, g.is_grantable, g.grantor)
    from (
        select 'relation ' || r.oid::regclass as object, a.*
        from relations as r, aclexplode(coalesce(r.relacl, acldefault(case r.relkind when 'S' then 's' else 'r' end::"char", r.relowner))) as a
        where r.relkind <> 'i'
        union all
        select 'column ' || c.attrelid::regclass || '.' || c.attname, a.*
        from pg_attribute as c, aclexplode(c.attacl) as a where c.attrelid in (select oid from relations)
        union all
        select 'function ' || p.oid::regprocedure, a.*
        from routines as p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as a
        union all
        select 'type ' || t.oid::regtype, a.*
        from types as t, aclexplode(coalesce(t.typacl, acldefault('T', t.typowner))) as a
        union all
        select 'schema', a.* from pg_namespace as n, aclexplode(n.nspacl) as a where n.oid = 'pgbaton'::regnamespace
        union all
        select 'default of ' || d.defaclobjtype::text, a.*
        from pg_default_acl as d, aclexplode(d.defaclacl) as a where d.defaclnamespace = 'pgbaton'::regnamespace
    ) as g (object, grantor, grantee, privilege_type, is_grantable)

    union all
    select 'role', r.rolname::text, concat_ws(
        ' | ', r.rolsuper, r.rolinherit, r.rolcreaterole, r.rolcreatedb, r.rolcanlogin, r.rolreplication, r.rolbypassrls
    )
    from pg_roles as r where r.rolname ~ '^pgbaton_(producer|worker|monitor|operator)$'

    union all
    select 'member', m.member::regrole::text, m.roleid::regrole::text
    from pg_auth_members as m where m.member::regrole::text = 'pgbaton_operator'

    union all
    select 'extension', e.extname::text, concat_ws(' | ', e.extversion, e.extowner::regrole, e.extrelocatable, e.extnamespace::regnamespace)
    from pg_extension as e where e.extname = 'pgbaton'

    union all
    select 'member of the extension', pg_describe_object(d.classid, d.objid, d.objsubid), ''
    from pg_depend as d
    inner join pg_extension as e on d.refobjid = e.oid and d.refclassid = 'pg_extension'::regclass
    where d.deptype = 'e' and e.extname = 'pgbaton'

    union all
    select 'dumped with the extension', c.relation::regclass::text, c.condition
    from pg_extension as e, unnest(e.extconfig, e.extcondition) as c (relation, condition)
    where e.extname = 'pgbaton'
)

select distinct
    f.kind,
    regexp_replace(f.object, '_20[0-9]{6}', '_DAY', 'g') as object,
    regexp_replace(regexp_replace(f.fact, '_20[0-9]{6}', '_DAY', 'g'), '''20[0-9]{2}-[0-9]{2}-[0-9]{2}''|Day 20[0-9-]{8}', 'DAY', 'g') as fact
from facts as f
order by 1, 2, 3
