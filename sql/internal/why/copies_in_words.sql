-- copies_in_words: what is to be said of a content's copies, in one sentence. Null where there is one good copy, and no other is wanted.
create or replace function reaper_internal.copies_in_words(p_content_hash text)
    returns text
    language sql stable
as $$
    select nullif(concat_ws('; ',
        (select format('%s copies: %s', count(*),
                       string_agg(format('%s on %s', case d.trouble when 'missing' then 'missing' when 'corrupt' then 'corrupt' else 'good' end, d.backend)
                                  || case when d.circuit <> 'closed' then ' (circuit ' || d.circuit || ')' when d.state <> 'active' then ' (' || d.state || ')' else '' end,
                                  ', ' order by d.backend))
           from reaper.copies_detail(p_content_hash) as d
          where d.kind = 'copy'
         having count(*) > 1 or count(d.trouble) > 0),
        (select string_agg(format('%s%s: %s', d.kind, ' on ' || d.backend, d.detail), '; ' order by d.kind, d.backend)
           from reaper.copies_detail(p_content_hash) as d
          where d.kind <> 'copy')), '');
$$;
comment on function reaper_internal.copies_in_words(text) is
    'For state_of_content: the copies of a content, where there is anything to say about them.';
revoke all on function reaper_internal.copies_in_words(text) from public;
