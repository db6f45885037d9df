/* reaper's protocol as it is built, for spin. README.md says which SQL function each step is, and what is left out.
 *
 * One content, two pastes, two workers. Put i makes paste i and has the key i, which is fresh: it is taken again only when
 * nothing and nobody knows it any more. A transaction is one step, since the row locks serialise it; so is an answer of S3.
 * Between two steps everybody may be overtaken, and any worker or writer may die. There is no clock: whatever waits for a time
 * may come at any moment, so a worker is late as soon as the watchdog was quicker. No counter bounds how often this happens.
 * -D and the name of a mutant takes one safeguard away: then an assertion must fail.
 */
#define PASTES 2
#define WORKERS 2
#define GRAVE WORKERS                 /* where the batch of a worker that died lies; one at a time */
#define BATCHES (WORKERS + 1)
#define NONE PASTES                   /* no key */

mtype = { FREE, CLAIMED, RELEASED };

/* public.pastes and public.content */
bool there[PASTES], due[PASTES], marked[PASTES];
bool content; byte content_key = NONE; byte ref_count; bool drifted;
/* reaper.batches. A token is held by one worker at most, so the batch that worker w can name is number w, or is gone. */
mtype state[BATCHES] = FREE; byte rows[BATCHES]; byte journal[BATCHES] = NONE; bool ownerless[BATCHES];
/* reaper.put_intents; reaper.cleanup_queue: how often the key is still to be deleted, and whether a lease has done so */
bool intent[PASTES]; byte queued[PASTES]; bool cleaned[PASTES];
/* The bucket; uploads whose writer is dead and that may still land; uploads that landed after their intent was gone, so that
 * their writer has to answer for them: that it dies as well would be one fault too many. */
bool stored[PASTES], in_flight[PASTES], answerable[PASTES];
/* The key that a worker is about to delete. */
byte in_hand[WORKERS] = NONE;

#define ANY(f) (f(0) || f(1))
#define ALL(f) (f(0) && f(1))
#define COUNT (there[0] + there[1])
#define HAS(set, i) (((set) >> (i)) & 1)

#ifdef BARE_KEY
#define KEY(i) 0                      /* the hash itself, the same for every put */
#define INTENDED(k) ((k) == 0 && ANY(HAS_INTENT))
#define FRESH(i) (!there[i] && !intent[i] && !in_flight[i])
#else
#define KEY(i) (i)
#define INTENDED(k) intent[k]
#define FRESH(i) (!there[i] && !stored[KEY(i)] && !KNOWN(KEY(i)) && !IN_HAND(KEY(i)) && !in_flight[i])
#endif
#define HAS_INTENT(i) intent[i]

/* ---- what must be true at every moment: reaper.check_invariants() and reaper verify ---- */

#define IS_CONTENT(k) (content && content_key == (k))
#define IN_BATCH(k) (journal[0] == (k) || journal[1] == (k) || journal[GRAVE] == (k))
#define IN_HAND(k) (in_hand[0] == (k) || in_hand[1] == (k))
#define KNOWN(k) (IS_CONTENT(k) || INTENDED(k) || queued[k] || IN_BATCH(k))          /* reaper.known_objects */
#define CLAIMS(b, i) (state[b] == CLAIMED && HAS(rows[b], i))

#define READABLE(i) (!there[i] || (content && stored[content_key]))
#define REMEMBERED(k) (!stored[k] || KNOWN(k) || answerable[k])
#define IN_A_CLAIM(i) (!there[i] || !marked[i] || CLAIMS(0, i) || CLAIMS(1, i) || CLAIMS(GRAVE, i))
#define NOT_OWED(k) (!IS_CONTENT(k) || (!queued[k] && !IN_BATCH(k)))

/* Never set: a failed assertion is printed with its text, so they lend it their names. */
bool a_paste_has_its_bytes, a_live_paste_is_never_released, the_count_is_right, nothing_is_forgotten,
     a_mark_has_its_batch, no_content_is_owed_a_deletion;
#define MUST(name, condition) if :: !(condition) -> assert(name) :: else fi
#define JUDGE                                                       \
    MUST(a_paste_has_its_bytes, ALL(READABLE));                     \
    MUST(no_content_is_owed_a_deletion, ALL(NOT_OWED));             \
    MUST(nothing_is_forgotten, ALL(REMEMBERED));                    \
    MUST(the_count_is_right, !content || drifted || ref_count == COUNT);       \
    MUST(a_mark_has_its_batch, ALL(IN_A_CLAIM))
/* One transaction or one answer of S3. The guard stands before the d_step, so that spin tells of steps that never happen. */
#define STEP(guard, effect) :: atomic { guard -> d_step { effect; JUDGE } }
#define STEP_TO(label, guard, effect) :: atomic { guard -> d_step { effect; JUDGE } goto label }

/* ---- a writer: begin_put, PUT, commit_put ---- */

inline queue(k, passes) { if :: queued[k] < passes -> queued[k] = passes :: else fi }

/* finish_put: a reference to what is there, or new content of the intent's own bytes */
inline refer(i) { there[i] = true; due[i] = false; marked[i] = false; ref_count++ }
inline finish_put(i, uploaded) {
    if
    :: content ->
        refer(i);
#ifndef LOSER_FORGOTTEN
        if :: uploaded && content_key != KEY(i) -> queue(KEY(i), 1) :: else fi
#endif
    :: else -> content = true; content_key = KEY(i); ref_count = 0; drifted = false; refer(i)
    fi;
    intent[i] = false
}
inline drop_intent(i, uploaded) {
    intent[i] = false;
#ifndef DROPPED_AND_FORGOTTEN
    if :: uploaded -> queue(KEY(i), 2) :: else fi
#endif
}
/* abort_put, and enqueue_late_upload where the intent is gone */
inline give_up(i, uploaded) {
    if
    :: intent[i] -> drop_intent(i, uploaded)
#ifdef QUEUED_IS_ENOUGH
    :: !intent[i] && uploaded && !KNOWN(KEY(i)) -> queue(KEY(i), 2)
#elif !defined(LATE_UPLOAD_FORGOTTEN)
    :: !intent[i] && uploaded && !IS_CONTENT(KEY(i)) && !IN_BATCH(KEY(i)) -> queue(KEY(i), 2)
#endif
    :: else
    fi;
    answerable[KEY(i)] = false
}

#ifdef NO_INTENT
#define HOLDS_INTENT(i) true
#else
#define HOLDS_INTENT(i) intent[i]
#endif
#ifdef COMMIT_WITHOUT_INTENT
#define MAY_COMMIT(i) (!there[i])           /* the code is free: the primary key says so */
#else
#define MAY_COMMIT(i) HOLDS_INTENT(i)
#endif

proctype writer(byte i) {
    bool uploaded;
end_idle:
    atomic {
        FRESH(i);
#ifndef NO_INTENT
        intent[i] = true;
#endif
        if :: content -> goto commit :: else fi
    }
upload:
#ifdef COMMIT_BEFORE_UPLOAD
    if :: !uploaded -> uploaded = true; goto commit :: else fi;
#endif
    if
    STEP(true, stored[KEY(i)] = true; uploaded = true; answerable[KEY(i)] = !HOLDS_INTENT(i))
    STEP_TO(end_idle, true, give_up(i, true))
    :: atomic { HOLDS_INTENT(i) -> goto end_idle }                              /* dies, nothing was sent */
    :: atomic { HOLDS_INTENT(i) -> in_flight[i] = true; goto end_idle }         /* dies, the bytes are on their way */
    fi;
commit:
    if
    :: atomic {
        MAY_COMMIT(i) && (content || uploaded) ->
#ifdef REFERENCE_WITHOUT_LOCK
        if :: content -> goto seen :: else fi;
#endif
        d_step { finish_put(i, uploaded); answerable[KEY(i)] = false; uploaded = false; JUDGE }
        goto end_idle
       }
#ifdef NO_BYTES_CHECK
    STEP_TO(end_idle, MAY_COMMIT(i) && !content && !uploaded, finish_put(i, uploaded))
#else
    :: atomic { MAY_COMMIT(i) && !content && !uploaded -> goto upload }       /* RP002 */
#endif
    STEP_TO(end_idle, true, give_up(i, uploaded); uploaded = false)      /* also after RP003 */
    :: atomic { !answerable[KEY(i)] -> uploaded = false; goto end_idle }
    fi;
#ifdef REFERENCE_WITHOUT_LOCK
seen:
    atomic {
        d_step {
            if
            :: intent[i] -> refer(i); intent[i] = false; if :: uploaded -> queue(KEY(i), 1) :: else fi
            :: else -> give_up(i, uploaded)
            fi;
            uploaded = false; answerable[KEY(i)] = false; JUDGE
        }
        goto end_idle
    }
#endif
}

/* ---- a worker: claim_expired, drop_references, DeleteObjects, finish_batch; adopt_batch ---- */

#define CLAIMABLE(i) (there[i] && due[i] && !marked[i])

inline claim(w, i) { marked[i] = true; rows[w] = rows[w] | (1 << i); state[w] = CLAIMED }

inline forget_batch(b) { state[b] = FREE; rows[b] = 0; journal[b] = NONE; ownerless[b] = false }
inline move_batch(from, to) {
    state[to] = state[from]; rows[to] = rows[from]; journal[to] = journal[from];
    ownerless[to] = to == GRAVE && state[from] == RELEASED;     /* as the watchdog makes it; before that nobody can touch it */
    forget_batch(from)
}

#ifdef NO_EXPIRY_CHECK
#define STILL_DUE(i) true
#else
#define STILL_DUE(i) due[i]
#endif
/* release_rows: what is still marked and still due goes, the rest is given back */
inline release_row(w, i) {
    if
    :: HAS(rows[w], i) && there[i] && marked[i] ->
        marked[i] = false;
        if
        :: STILL_DUE(i) -> MUST(a_live_paste_is_never_released, due[i]); there[i] = false; due[i] = false; spent++
        :: else
        fi
    :: else
    fi
}
#ifdef COUNT_IS_BELIEVED
#define NAMED false
#else
#define NAMED (COUNT > 0)
#endif
/* release_contents: the count is a cache, and where it says zero the rows are asked */
inline release_contents(w) {
    if
    :: spent > 0 && content ->
        if
        :: ref_count <= spent && !NAMED ->
            journal[w] = content_key;
#ifndef CONTENT_IN_FINISH
            content = false; content_key = NONE; drifted = false;
#endif
            ref_count = 0
        :: ref_count <= spent && NAMED -> ref_count = COUNT; drifted = false          /* raised */
        :: else -> ref_count = ref_count - spent
        fi
    :: else
    fi
}
inline release_rows(w) {
    spent = 0;
    release_row(w, 0); release_row(w, 1);
    rows[w] = 0
}
inline return_batch(b) {
    if :: HAS(rows[b], 0) -> marked[0] = false :: else fi;
    if :: HAS(rows[b], 1) -> marked[1] = false :: else fi;
    rows[b] = 0
}

/* finish_batch, or RP001 */
inline finish(w, failed) {
    if
    :: state[w] == RELEASED ->
#ifdef CONTENT_IN_FINISH
        if :: IS_CONTENT(journal[w]) -> content = false; content_key = NONE; ref_count = 0; drifted = false :: else fi;
#endif
#ifndef FAILURE_FORGOTTEN
        if :: failed && journal[w] != NONE -> queue(journal[w], 1) :: else fi;
#endif
        forget_batch(w)
    :: else
    fi;
    in_hand[w] = NONE
}

#ifdef NO_TOKEN_CHECK
#define HOLDS_CLAIM(w) (state[w] == CLAIMED || rows[w])
#else
#define HOLDS_CLAIM(w) (state[w] == CLAIMED)
#endif
/* The worker is gone. Its batch stays, and the watchdog finds it. */
#define DIES(w) STEP_TO(end_desk, state[w] != FREE && state[GRAVE] == FREE, move_batch(w, GRAVE); in_hand[w] = NONE)

proctype worker(byte w) {
    byte spent;
end_desk:                             /* a worker whose claim was taken back meets RP001, and is as good as one that has none */
    if
#define CLAIM(i) STEP_TO(end_desk, state[w] == FREE && CLAIMABLE(i), claim(w, i))
    CLAIM(0)
    CLAIM(1)
    STEP_TO(end_desk, state[w] == FREE && CLAIMABLE(0) && CLAIMABLE(1), claim(w, 0); claim(w, 1))
#define ADOPTABLE(b) (state[b] == RELEASED && ownerless[b])
#define ADOPT(b) STEP_TO(outside, state[w] == FREE && ADOPTABLE(b), move_batch(b, w); in_hand[w] = journal[w])
    ADOPT(1 - w)
    ADOPT(GRAVE)
    :: atomic {                                                                 /* drop_references */
        HOLDS_CLAIM(w) ->
        d_step {
#ifdef S3_BEFORE_COMMIT
            if :: content && ref_count <= 1 -> stored[content_key] = false :: else fi;
            JUDGE;
#endif
            release_rows(w);
#ifndef DECREMENT_APART
            release_contents(w); spent = 0;
#endif
            if :: state[w] == CLAIMED -> state[w] = RELEASED :: else -> journal[w] = NONE fi;
            JUDGE
        }
#ifdef DECREMENT_APART
        goto outside
#else
        if :: in_hand[w] = journal[w]; goto outside :: goto end_desk fi         /* or its answer is lost */
#endif
       }
    :: atomic { state[w] == RELEASED -> in_hand[w] = journal[w]; goto outside } /* its answer, asked for again */
    STEP_TO(outside, state[w] == CLAIMED, return_batch(w); state[w] = RELEASED)      /* others hold the content */
    DIES(w)
    fi;
outside:
#ifdef DECREMENT_APART
    skip; d_step { release_contents(w); in_hand[w] = journal[w]; spent = 0; JUDGE }
#endif
#ifdef FINISH_BEFORE_S3
    skip; d_step { forget_batch(w); JUDGE }
#endif
    if
    STEP(in_hand[w] != NONE, stored[in_hand[w]] = false)
    STEP_TO(end_desk, true, finish(w, true))               /* S3 refuses, or there is nothing to delete */
    DIES(w)
    fi;
    if
    STEP_TO(end_desk, true, finish(w, false))
    STEP_TO(end_desk, true, finish(w, true))               /* S3 did it, its answer is lost */
    DIES(w)
    fi
}

/* ---- what comes at any moment and keeps nothing in mind: one transaction each, or one answer of S3 ---- */

/* reset_stuck */
inline reset(b) {
#ifdef RESETS_RELEASED
    if :: state[b] == CLAIMED -> return_batch(b) :: else fi;
    forget_batch(b)
#else
    if
    :: state[b] == CLAIMED ->
#ifdef NO_TOKEN_CHECK
        kept = rows[b]; return_batch(b); forget_batch(b); rows[b] = kept; kept = 0
#elif defined(RESET_LEAVES_MARKS)
        forget_batch(b)
#else
        return_batch(b); forget_batch(b)
#endif
    :: else -> ownerless[b] = true
    fi
#endif
}
active proctype watchdog() {
#ifdef NO_TOKEN_CHECK
    byte kept;
#endif
#ifdef WATCHDOG_IN_TWO_STEPS
#define RESET(b) :: state[b] == CLAIMED -> d_step { return_batch(b); forget_batch(b); JUDGE }
#else
#define RESET(b) STEP(state[b] == CLAIMED || (state[b] == RELEASED && !ownerless[b]), reset(b))
#endif
end_watchdog:
    do
    RESET(0)
    RESET(1)
    RESET(GRAVE)
    od
}

/* finish_intent. Nobody deletes an object that has an intent, so what was found is there still; what was not may be by now. */
#define RESOLVE(i) \
    STEP(intent[i] && stored[KEY(i)], finish_put(i, true)) \
    STEP(intent[i], drop_intent(i, true))
active proctype pending_reaper() {
end_pending:
    do
    RESOLVE(0)
    RESOLVE(1)
    od
}

/* claim_cleanup, DeleteObjects, finish_cleanup. An upload of the dead has landed or failed before the second deletion:
 * settings.intent_min_age is longer than any PUT. */
#ifdef DROPPED_ONCE
#define FIRST_DONE 0
#else
#define FIRST_DONE 1
#endif
#ifdef SETTLED_BEFORE_DELETED
#define CLEAN(k) STEP(queued[k], queued[k]--)
#else
#define CLEAN(k) \
    STEP(queued[k] == 2 && !cleaned[k], stored[k] = false; queued[k] = FIRST_DONE) \
    STEP(queued[k] == 1 && !cleaned[k] && !in_flight[k], stored[k] = false; cleaned[k] = true) \
    STEP(cleaned[k], queued[k]--; cleaned[k] = false)
#endif
active proctype cleanup() {
end_cleanup:
    do
    CLEAN(0)
    CLEAN(1)
    od
}

/* Time passes; a paste is extended through the door or by hand, so that the mark stays; a direct writer miscounts;
 * an upload of the dead lands, or does not. */
#define HAPPEN(i) \
    STEP(there[i] && !due[i], due[i] = true) \
    STEP(there[i] && due[i], due[i] = false; marked[i] = false) \
    STEP(there[i] && due[i] && marked[i], due[i] = false) \
    STEP(in_flight[i], in_flight[i] = false; stored[KEY(i)] = true) \
    STEP(in_flight[i], in_flight[i] = false)
active proctype world() {
end_world:
    do
    HAPPEN(0)
    HAPPEN(1)
    STEP(content && !drifted && ref_count > 0, ref_count--; drifted = true)
    od
}

init {
    atomic {
        run writer(0); run writer(1);
        run worker(0); run worker(1)
    }
}
