-- set_content_key: the object under the content's own key is about to go: the key becomes that of a copy that stays. Nothing changes if another
-- copy went, or if the key is an expression. The caller holds the row FOR UPDATE: the key has a unique index. What is given may come from tables of
-- ours, with their collation; as columns of default collation the arguments leave the decision to the content's own.
create or replace function reaper_internal.set_content_key(p_content_hash text, p_old_key text, p_new_key text)
    returns void
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
begin
    if exists (select from reaper.bindings b where b.name = 'content' and b.key_expression is null) then
        update reaper.content c
           set object_key = p_new_key
         where c.content_hash = (select p_content_hash collate "default")
           and coalesce(c.object_key, c.content_hash) = (select p_old_key collate "default");
    end if;
end;
$$;
comment on function reaper_internal.set_content_key(text, text, text) is
    'Gives a content, whose row the caller holds, the key of another of its copies, if its key is p_old_key.';
revoke all on function reaper_internal.set_content_key(text, text, text) from public;
