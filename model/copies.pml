/* The copies of one content on three backends, for spin. README.md says which SQL function each step is, and what is left out.
 *
 * One content, and on each backend at most one object of it at a time: object k lies on backend k under a fresh random key, and k is
 * taken again only when nothing and nobody knows it any more. As in reaper.pml a transaction is one step, and so is an answer of S3; between
 * two steps everybody may be overtaken, and a copier or writer may die. A lease is over whenever the pending reaper is quicker.
 * -D and the name of a mutant takes one safeguard away: then an assertion must fail.
 */
#define N 3
#define NONE N
#define CLEANERS 2

bool content;
byte factor = 1;
/* reaper.object_locations: where a copy lies, and which of these are known to be missing */
bool located[N], bad[N];
/* reaper.copy_intents and put_intents; reaper.cleanup_queue */
bool intent[N], queued[N], cleaned[N];
/* The buckets: what is stored there, and whether it is not what was sent; what was stored when its intent was gone, so that who did it
 * has to answer for it; and whether the last copy was lost by its backend, for which nobody here can be blamed. */
bool stored[N], wrong[N], answerable[N], ruined;
/* What the copier, the writer and the cleaners have in mind. */
byte copied = NONE, source = NONE, put = NONE;
byte victim[CLEANERS] = NONE, seen[CLEANERS];

#define EACH(f) f(0) f(1) f(2)
#define ALL(f) (f(0) && f(1) && f(2))
#define HAS(set, k) (((set) >> (k)) & 1)
#define GOOD(k) (located[k] && !bad[k])
#define FINE(k) (GOOD(k) && stored[k] && !wrong[k])
#define GOODS (GOOD(0) + GOOD(1) + GOOD(2))
#define FINES (FINE(0) + FINE(1) + FINE(2))
#define HELD(k) (copied == (k) || source == (k) || put == (k) || victim[0] == (k) || victim[1] == (k) || HAS(seen[0] | seen[1], k))
#define FRESH(k) (!located[k] && !intent[k] && !queued[k] && !stored[k] && !answerable[k] && !HELD(k))

/* ---- what must be true at every moment ---- */

#define BELONGS(k) (!located[k] || content)
#define NOT_OWED(k) (!located[k] || !queued[k])
#define REMEMBERED(k) (!stored[k] || located[k] || intent[k] || queued[k] || answerable[k])
/* Never set: a failed assertion is printed with its text, so they lend it their names. */
bool content_has_a_good_copy, no_copy_is_owed_a_deletion, nothing_is_forgotten, a_copy_has_its_content, a_copy_has_its_bytes,
     a_put_can_be_read, enough_copies_stay;
#define MUST(name, condition) if :: !(condition) -> assert(name) :: else fi
#define JUDGE                                                           \
    MUST(content_has_a_good_copy, !content || ruined || FINES > 0);     \
    MUST(no_copy_is_owed_a_deletion, ALL(NOT_OWED));                    \
    MUST(a_copy_has_its_content, ALL(BELONGS));                         \
    MUST(nothing_is_forgotten, ALL(REMEMBERED))
#define STEP(guard, effect) :: atomic { guard -> d_step { effect; JUDGE } }
#define STEP_TO(label, guard, effect) :: atomic { guard -> d_step { effect; JUDGE } goto label }

/* ---- the copier: claim_copies or claim_moves, GET and PUT, commit_copies ---- */

/* add_copies, with the bytes that were sent */
inline add_copy(k) {
    MUST(a_copy_has_its_bytes, stored[k] && !wrong[k]);
    located[k] = true; bad[k] = false; ruined = false
}
inline remove(k) { located[k] = false; bad[k] = false; queued[k] = true }

#ifdef NO_CONTENT_LOOK
#define NEEDED true
#else
/* judge_copies: what is there is looked at anew, under the content's lock */
#define NEEDED (content && (GOODS < factor || GOODS == 0))
#endif
#define MOVABLE (content && GOOD(source))
inline finish_copy() {
    intent[copied] = false;
    if
#ifdef SOURCE_FIRST
    :: moving && content -> add_copy(copied)
#else
    :: moving && MOVABLE -> add_copy(copied); remove(source)
#endif
    :: !(moving && MOVABLE) && NEEDED -> add_copy(copied)
    :: else -> queued[copied] = true
    fi
}
/* enqueue_late_copy: its intent is gone, and its key was deleted perhaps before the bytes came */
inline late() {
#ifndef LATE_COPY_FORGOTTEN
    if :: !located[copied] -> queued[copied] = true :: else fi;
#endif
    answerable[copied] = false
}
#ifdef NO_COPY_INTENT
#define ANNOUNCED(k)
#define HOLDS(k) true
#else
#define ANNOUNCED(k) intent[k] = true;
#define HOLDS(k) intent[k]
#endif
inline end_copy() { answerable[copied] = false; copied = NONE; source = NONE; moving = false }

active proctype copier() {
    bool moving;
end_idle:
    if
#define COPY(k, s) \
    STEP_TO(read, content && GOODS < factor && GOOD(s) && FRESH(k), ANNOUNCED(k) copied = k; source = s) \
    STEP_TO(read, content && GOOD(s) && FRESH(k), ANNOUNCED(k) copied = k; source = s; moving = true)
    COPY(0, 1) COPY(0, 2) COPY(1, 0) COPY(1, 2) COPY(2, 0) COPY(2, 1)
    fi;
read:
#ifdef SOURCE_FIRST
    if STEP(moving && MOVABLE, remove(source)) :: else fi;
#endif
#ifdef COMMIT_BEFORE_WRITE
    if :: goto commit :: true fi;
#endif
    if
    STEP(stored[source] && !wrong[source], stored[copied] = true; wrong[copied] = false; answerable[copied] = !HOLDS(copied))
    STEP(stored[source], stored[copied] = true; wrong[copied] = true; answerable[copied] = !HOLDS(copied))        /* the line changes bytes */
    STEP_TO(give_up, located[source] && !stored[source], bad[source] = true)                    /* report_copy: missing */
    STEP_TO(give_up, !located[source] && !stored[source], skip)
    :: atomic { HOLDS(copied) -> d_step { end_copy() } goto end_idle }                         /* dies */
    fi;
#ifndef NOT_VERIFIED
    if
    :: atomic { wrong[copied] -> goto give_up }
    :: else
    fi;
#endif
commit:
    if
    STEP_TO(end_idle, HOLDS(copied), finish_copy(); end_copy())
    STEP_TO(end_idle, !HOLDS(copied), late(); end_copy())
    :: atomic { !answerable[copied] -> d_step { end_copy() } goto end_idle }                    /* dies */
    fi;
give_up:
    if
    STEP_TO(end_idle, HOLDS(copied), intent[copied] = false; queued[copied] = true; end_copy())     /* fail_copies */
    STEP_TO(end_idle, !HOLDS(copied), late(); end_copy())
    fi
}

/* ---- a writer: begin_put, PUT, commit_put ---- */

inline refer() {
    MUST(a_put_can_be_read, GOODS > 0);
    intent[put] = false;
    if :: uploaded -> queued[put] = true :: else fi;
    answerable[put] = false; put = NONE; uploaded = false
}
inline create() {
    content = true; ruined = false;
    intent[put] = false; located[put] = true; bad[put] = false;
    put = NONE; uploaded = false
}
#ifdef DEDUPLICATED_ONTO_BAD
#define SUFFICES true
#else
#define SUFFICES (GOODS > 0)
#endif
active proctype writer() {
    bool uploaded;
end_idle:
    if
#define PUT(k) STEP_TO(chosen, FRESH(k), intent[k] = true; put = k)
    EACH(PUT)
    fi;
chosen:
    if
    :: atomic { content && SUFFICES -> goto commit }
    STEP(true, stored[put] = true; wrong[put] = false; uploaded = true; answerable[put] = !intent[put])
    :: atomic { intent[put] -> put = NONE; goto end_idle }                                      /* dies */
    fi;
commit:
    if
    STEP_TO(end_idle, intent[put] && content && SUFFICES, refer())
    STEP_TO(end_idle, intent[put] && uploaded && !(content && SUFFICES), create())
    :: atomic { intent[put] && !uploaded && !(content && SUFFICES) -> goto chosen }             /* RP002 */
    STEP_TO(end_idle, !intent[put], if :: uploaded -> queued[put] = true :: else fi; answerable[put] = false; put = NONE; uploaded = false)
    :: atomic { !answerable[put] -> put = NONE; uploaded = false; goto end_idle }               /* dies */
    fi
}

/* ---- a cleaner: claim_excess, HEAD, remove_copy ---- */

#define OTHERS(v) (GOODS - GOOD(v))
#ifdef HEAD_SKIPPED
#define FOUND(k) GOOD(k)
#else
#define FOUND(k) (GOOD(k) && stored[k])
#endif
#define LOOK(k) \
    if \
    :: k != victim[c] && FOUND(k) -> seen[c] = seen[c] | (1 << k) \
    :: k != victim[c] && GOOD(k) && !FOUND(k) -> bad[k] = true \
    :: else \
    fi;
#define COUNTED(k) (k != victim[c] && HAS(seen[c], k) && GOOD(k))
#define SEEN_GOOD (COUNTED(0) + COUNTED(1) + COUNTED(2))
#ifdef NO_RECOUNT
#define MAY_GO (located[victim[c]] && seen[c] != 0)
#elif defined(FACTOR_FORGOTTEN)
#define MAY_GO (content && located[victim[c]] && SEEN_GOOD > 0)
#else
#define MAY_GO (content && located[victim[c]] && SEEN_GOOD >= factor)
#endif

proctype cleaner(byte c) {
end_idle:
    if
#define EXCESS(v) STEP(content && located[v] && OTHERS(v) >= factor, victim[c] = v)
    EACH(EXCESS)
    fi;
    if
    STEP(true, EACH(LOOK) skip)
    fi;
    if
    STEP_TO(end_idle, MAY_GO, MUST(enough_copies_stay, OTHERS(victim[c]) >= factor); remove(victim[c]); victim[c] = NONE; seen[c] = 0)
    STEP_TO(end_idle, !MAY_GO, victim[c] = NONE; seen[c] = 0)                                     /* kept, or gone */
    fi
}

/* ---- what comes at any moment and keeps nothing in mind ---- */

#define RELEASE(k) if :: located[k] -> remove(k) :: else fi;
/* release_objects; a backend loses an object, not one that a cleaner has just seen: who looks cannot know better */
#define SEEN(k) HAS(seen[0] | seen[1], k)
#define OTHER_FINE(k) (FINES - FINE(k) > 0)
#define LOSE(k) STEP(located[k] && stored[k] && !SEEN(k), stored[k] = false; ruined = ruined || FINES == 0)
active proctype world() {
end_world:
    do
    STEP(content, content = false; ruined = false; EACH(RELEASE) skip)
    STEP(factor == 1, factor = 2)
    STEP(factor == 2, factor = 1)
    EACH(LOSE)
    od
}

/* drop_stale_copies, finish_intent */
#ifdef DROPPED_COPY_FORGOTTEN
#define OWED(k)
#else
#define OWED(k) queued[k] = true;
#endif
#define DROP(k) STEP(intent[k], intent[k] = false; OWED(k) skip)
active proctype pending_reaper() {
end_pending:
    do
    EACH(DROP)
    od
}

/* claim_cleanup, DeleteObjects, finish_cleanup. Twice: what came after the first deletion goes with the second. */
#define CLEAN(k) \
    STEP(queued[k] && !cleaned[k], stored[k] = false; wrong[k] = false; cleaned[k] = true) \
    STEP(cleaned[k], cleaned[k] = false; queued[k] = stored[k])
active proctype cleanup() {
end_cleanup:
    do
    EACH(CLEAN)
    od
}

init { atomic { run cleaner(0); run cleaner(1) } }
