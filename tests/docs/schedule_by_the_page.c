/* schedule_by_the_page LOCK.json < positions: a reader of schedule format 1, written from its page alone.
   Input: a position a line. Output, a line each, with tabs: position, step, slot, draw, epoch, sequence,
   first_token, tokens, name of the domain. Capital letters (T, P, L, B, O, S, K) are the page's symbols. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef long long Int; typedef unsigned long long Bits; typedef unsigned __int128 Wide;
typedef struct Json { char kind, *key, *text; Int number, count; struct Json *child, *next; } Json;
typedef struct { char *name; Int length, T, P, last_length, next_draw, z, z_epoch; } Domain;
typedef struct { Int weight, smaller, larger; } Node;             /* its index in the tree is its id */
typedef struct { Int first_step, steps, L, skip, O, E, position, root, *shift; Bits S; Node *tree; } Segment;
typedef struct { Int first_step, B, position; } Batch;
typedef struct { Domain *d; Int L, Q, N, Z, D, C, G; } Order;     /* of d's sequences of length L */
static struct { Int seed, U, M, steps, *count[3]; int domains, segments, batches;
                Domain *domain; Segment *segment; Batch *batch; Json *lock; } run;
static _Noreturn void fail(const char *a, const char *b) { fprintf(stderr, "%s: %s\n", a, b); exit(1); }
static void rule(int holds, const char *text) { if (!holds) fail("the lock breaks a rule", text); }
static void json(int good) { if (!good) fail("the lock", "not JSON"); }
static Int min(Int a, Int b) { return a < b ? a : b; }
static Int common_divisor(Int a, Int b) { return b ? common_divisor(b, a % b) : a; }
static Int isqrt(Int x) {                                         /* x is below 2^62 */
    Int root = 0;
    for (Int bit = 1 << 30; bit; bit >>= 1) if ((root + bit) * (root + bit) <= x) root += bit;
    return root;
}
static char *at;      /* ---- JSON, read at this place of its text; strings are decoded where they stand */
static int take(char c) { at += strspn(at, " \t\n\r"); return *at == c ? at++, 1 : 0; }
static char *string(Int *length) {
    static const char letters[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
    json(take('"'));
    char *text = at, *to = at;
    for (Bits c, high = 0; *at != '"'; ) {
        json((unsigned char)*at >= 0x20);
        if (*at != '\\') { *to++ = *at++; continue; }
        const char *letter = at[1] ? strchr(letters, at[1]) : NULL;
        if (letter) { *to++ = meaning[letter - letters]; at += 2; continue; }
        json(at[1] == 'u' && strspn(at + 2, "0123456789abcdefABCDEF") >= 4);
        c = strtoul((char[]){at[2], at[3], at[4], at[5], 0}, NULL, 16), at += 6;
        if (c >> 10 == 0x36) { high = c & 0x3FF; continue; }      /* two make a character above U+FFFF */
        if (c >> 10 == 0x37) c = 0x10000 + (high << 10 | (c & 0x3FF));
        int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        *to++ = c >> 6 * more | (Bits[]){0, 0xC0, 0xE0, 0xF0}[more];
        while (more--) *to++ = 0x80 | (c >> 6 * more & 0x3F);
    }
    *to = *at++ = 0;
    return *length = to - text, text;
}
static int word(const char *w) { size_t n = strlen(w); return strncmp(at, w, n) ? 0 : (at += n, 1); }
static Int scalar(void) {                              /* -1 where it is not an integer */
    if (word("true") || word("false") || word("null")) return -1;
    char *from = at;
    size_t digits = strspn(at, "0123456789"), all = strspn(at, "+-.0123456789eE");
    json((digits == 1 || (digits && *at != '0') || *at == '-') && (strtod(from, &at), at == from + all));
    return digits == all && digits < 20 ? (Int)strtoull(from, NULL, 10) : -1;
}
static Json *value(int depth) {
    Json *j = calloc(1, sizeof *j), **last = &j->child;
    *j = (Json){.kind = take('{') ? '{' : take('[') ? '[' : *at, .number = -1};
    if (j->kind == '"') j->text = string(&j->count);
    else if (j->kind != '{' && j->kind != '[') j->number = scalar();
    else for (; !take(j->kind == '{' ? '}' : ']'); last = &(*last)->next) {
        json(depth < 1000 && (!j->count++ || take(',')));
        char *key = j->kind == '{' ? string(&(Int){0}) : NULL;
        json(!key || take(':'));
        *last = value(depth + 1);
        (*last)->key = key;
    }
    return j;
}
static Json *member(Json *object, const char *name, char kind) {  /* kind 0: any, or there is none */
    Json *j = object->kind == '{' ? object->child : NULL;
    while (j && strcmp(j->key, name)) j = j->next;
    if (kind && (!j || j->kind != kind)) fail("a field is missing or of another type", name);
    return j;
}
static Int integer(Json *object, const char *name, Int least, Int most) {
    Json *j = member(object, name, 0);
    if (!j || j->number < least || j->number > most) fail("a field is missing or out of its range", name);
    return j->number;
}
static Bits turn(Bits x, int by) { return x >> by | x << (64 - by); }            /* ---- Section 2: BLAKE2b */
static Bits blake2b(const char *text, Bits length) {              /* length is above 0 */
    static const Bits start[8] = {0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B,
        0xA54FF53A5F1D36F1, 0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179};
    static const Bits order[10] = {0x0123456789ABCDEF, 0xEA489FD61C02B753, 0xB8C052FDAE367194,
        0x7931DCBE265A40F8, 0x905724AFE1BC683D, 0x2C6A0B834D75FE19, 0xC51FED4A0763928B, 0xDB7EC13950F4862A,
        0x6FE9B308C2D714A5, 0xA2847615FB9E3CD0};                  /* a hex digit is a word's index */
    Bits h[8], v[16];
    for (int i = 0; i < 8; i++) h[i] = start[i] ^ (i ? 0 : 0x01010008);
    for (Bits from = 0; from < length; from += 128) {
        Bits word[16] = {0}, end = min(from + 128, length);
        for (Bits i = from; i < end; i++) word[(i - from) / 8] |= (Bits)(unsigned char)text[i] << i % 8 * 8;
        for (int i = 0; i < 8; i++) { v[i] = h[i]; v[i + 8] = start[i]; }
        v[12] ^= end, v[14] ^= end == length ? ~0ULL : 0;
        for (int i = 0; i < 192; i++) {                /* 12 rounds: 4 columns, 4 diagonals, in halves */
            int turned = i / 8 % 2, a = i / 2 % 4, b = 4 + (a + turned) % 4;
            int c = 8 + (a + 2 * turned) % 4, d = 12 + (a + 3 * turned) % 4;
            v[a] += v[b] + word[order[i / 16 % 10] >> (60 - i % 16 * 4) & 15];
            v[d] = turn(v[d] ^ v[a], i % 2 ? 16 : 32);
            v[c] += v[d], v[b] = turn(v[b] ^ v[c], i % 2 ? 63 : 24);
        }
        for (int i = 0; i < 8; i++) h[i] ^= v[i] ^ v[i + 8];
    }
    return h[0];
}
static Bits key(const char *what, const Domain *d, int numbers, const Int *number) {   /* keys, mix64, out */
    static char *text;                                 /* seed, what, d's name where there is a d, numbers */
    if (!(text = realloc(text, 200 + (d ? d->length : 0)))) fail("memory", "not enough");
    Int n = sprintf(text, "mixture-schedule/1\037%lld\037%s%s", run.seed, what, d ? "\037" : "");
    for (Int i = 0; d && i < d->length; i++) text[n++] = d->name[i];
    while (numbers--) n += sprintf(text + n, "\037%lld", *number++);
    return blake2b(text, n);
}
static Bits mix64(Bits x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9, x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}
static Bits out(Bits k, Int i) { return mix64(k + (i + 1ULL) * 0x9E3779B97F4A7C15); }
enum { SORTED = 16384, KEPT = 4096 };       /* permutations: the longest list that is sorted; lists kept */
static Bits entry(Bits k, Int j) { return out(k, j) >> 16 << 14 | j; }
static int compare(const void *a, const void *b) { const Bits *x = a, *y = b; return (*x > *y) - (*x < *y); }
static const unsigned short *sorted(Int n, Bits k) {
    static struct { Int n; Bits k; unsigned short list[SORTED]; } kept[KEPT], *here;
    static Bits entries[SORTED];
    here = &kept[(k + n) % KEPT];
    if (here->n == n && here->k == k) return here->list;
    here->n = n, here->k = k;
    for (Int j = 0; j < n; j++) entries[j] = entry(k, j);
    qsort(entries, n, sizeof *entries, compare);
    for (Int i = 0; i < n; i++) here->list[i] = entries[i] % SORTED;
    return here->list;
}
static Int rounds(Int n, Bits k, Int i, int back) {    /* of an n above SORTED */
    Int a = isqrt(n - 1) + 1, b = (n + a - 1) / a;
    do {
        Int high = i / a, low = i % a;
        for (int r = back ? 5 : 0; r >= 0 && r <= 5; r += back ? -1 : 1) {
            Int size = r % 2 ? b : a, v = r % 2 ? low : high, f = (mix64(v ^ out(k, r)) >> 32) * size >> 32;
            if (back) f = size - f;
            if (r % 2) high = (high + f) % b; else low = (low + f) % a;
        }
        i = high * a + low;
    } while (i >= n);
    return i;
}
static Int perm(Int n, Bits k, Int i) { return n > SORTED ? rounds(n, k, i, 0) : sorted(n, k)[i]; }
static Int inverse(Int n, Bits k, Int j) {
    if (n > SORTED) return rounds(n, k, j, 1);
    Int index = 0;                                     /* in the sorted list: so many are before j */
    for (Int i = 0; i < n; i++) index += entry(k, i) < entry(k, j);
    return index;
}
static Int position_of(Int step) {                     /* ---- Section 3: the position of a step's slot 0 */
    const Batch *b = run.batch + run.batches - 1;
    while (step < b->first_step) b--;
    rule(step - b->first_step <= ((1LL << 49) - b->position) / b->B, "a run has at most 2^49 sequences");
    return b->position + (step - b->first_step) * b->B;
}
static Wide by_weight(Int weight, Int id) { return (Wide)weight << 64 | id; }
static int heavier(const void *a, const void *b) { const Wide *x = a, *y = b; return (*x > *y) - (*x < *y); }
static void build_tree(Segment *s) {                   /* ---- Section 4: which domain. The heap is sorted */
    int n = 0, id = run.domains;
    Wide *heap = calloc(id, sizeof *heap), *least = heap;
    for (int d = 0; d < id; d++) if (s->tree[d].weight) heap[n++] = by_weight(s->tree[d].weight, d);
    qsort(heap, n, sizeof *heap, heavier);
    for (; n > 1; n--, id++) {
        int smaller = (int)*least++, larger = (int)*least, i = 0;
        s->tree[id] = (Node){s->tree[smaller].weight + s->tree[larger].weight, smaller, larger};
        Wide new_node = by_weight(s->tree[id].weight, id);
        for (; i < n - 2 && least[i + 1] < new_node; i++) least[i] = least[i + 1];
        least[i] = new_node;
    }
    s->root = (int)*least, free(heap);
}
static Int *counts(const Segment *segment, Int x, Int *count) {   /* count has room for all nodes */
    memset(count, 0, 2 * run.domains * sizeof *count);
    count[segment->root] = x;
    for (int id = segment->root; id >= run.domains; id--) {       /* parents before their children */
        Node node = segment->tree[id];
        Wide m = count[id], W = node.weight, s = segment->tree[node.smaller].weight, j = m * s / W;
        Wide from = (j * W + s - 1) / s, to = ((j + 1) * W + s - 1) / s;
        Wide p = from + out(out(segment->S, id - run.domains), j) % (Bits)(to - from);
        count[node.smaller] = j + (p < m), count[node.larger] = m - count[node.smaller];
    }
    return count;
}
static Int stride(Int B) {                             /* ---- Section 5: which slot */
    Int h = (isqrt(5 * B * B) - B) / 2;                /* q; then + 1, - 2, + 3 make q + 1, q - 1, q + 2 */
    for (Int by = 1; h < 1 || h > B || common_divisor(h, B) > 1; by++) h += by % 2 ? by : -by;
    return h;
}
static Order order_of(Domain *d, Int L) {              /* ---- Section 7: which sequence */
    Int H = d->P ? d->P : d->T, Q = run.U / L, N = (H + run.U - 1) / run.U, Z = (H - (N - 1) * run.U) / L;
    return (Order){d, L, Q, N, Z, Q - Z, N * Q - (Q - Z), min(run.M, N < 32 ? 1 : N / 32)};
}
static Int place_of_last_block(Order o, Int e) {       /* z; it is the same for every L */
    if (o.d->z_epoch != e) o.d->z = inverse(o.N, key("pass", o.d, 1, &e), o.N - 1);
    return o.d->z_epoch = e, o.d->z;
}
static Int before(Order o, Int z, Int w) { Int p = min(w * o.G, o.N); return p * o.Q - (z < p ? o.D : 0); }
static Int window_of(Order o, Int z, Int r) {          /* of draw r of an epoch */
    Int w = z / o.G;                                   /* the last block's; D draws are missing after it */
    return r < before(o, z, w) ? r / (o.G * o.Q) : r < before(o, z, w + 1) ? w : (r + o.D) / (o.G * o.Q);
}
static Int sequence(Order o, Int k) {
    Int e = k / o.C, r = k % o.C, z = place_of_last_block(o, e), w = window_of(o, z, r);
    Int y = r - before(o, z, w), n = before(o, z, w + 1) - before(o, z, w), F = o.d->T / run.U;
    if (o.Q > 1) y = perm(n, key("window", o.d, 3, (Int[]){o.L, e, w}), y);
    if (w == z / o.G && y >= (z - w * o.G) * o.Q + o.Z) y += o.D;
    Int block = perm(o.N, key("pass", o.d, 1, &e), w * o.G + y / o.Q);
    if (o.d->P && F) block = perm(F, key("pool", o.d, 0, NULL), block);
    return block * o.Q + y % o.Q;
}
static Int next_draw(Domain *d, Int k, Int l, Int L) { /* ---- Section 6: which draw */
    if (!l || l == L) return k;
    Order last = order_of(d, l), order = order_of(d, L);
    Int e = (k - 1) / last.C, z = place_of_last_block(last, e), w = window_of(last, z, (k - 1) % last.C);
    return e * order.C + before(order, z, w + 1);      /* after the last window: (e + 1) * C */
}
static void begin_segment(Segment *s) {
    s->position = position_of(s->first_step);
    s->O = s->skip ? s[-1].E + s->skip : 0;
    s->E = s->O + position_of(s->first_step + s->steps) - s->position;
    s->S = s->skip ? s[-1].S : key("split", NULL, 1, &s->first_step);
    build_tree(s);
    Int *at_O = counts(s, s->O, run.count[0]), *at_E = counts(s, s->E, run.count[1]);
    Int *at_skip = counts(s, s->O - s->skip, run.count[2]);
    for (int i = 0; i < run.domains; i++) if (s->tree[i].weight) {
        Domain *d = &run.domain[i];
        rule((d->P ? d->P : d->T) >= s->L, "a domain with a weight has a complete sequence");
        Int left = at_O[i] - at_skip[i], read = at_E[i] - at_O[i];
        Int start = next_draw(d, d->next_draw, d->last_length, s->L) + left;
        s->shift[i] = start - at_O[i];
        if (read + left > 0) { d->last_length = s->L; d->next_draw = start + read; }
    }
}
static void read_lock(Json *lock) {                    /* ---- Section 1: the fields that decide the order */
    integer(lock, "format", 1, 1);
    Json *j = member(lock, "features", '[')->child, *k;
    if (j) fail("the lock has a feature that this reader does not know", j->kind == '"' ? j->text : "?");
    run.seed = integer(lock, "seed", 0, ~0ULL >> 1);
    run.U = integer(lock, "block_tokens", 1, 1LL << 48);
    run.M = integer(lock, "window_blocks", 1, ~0ULL >> 1);
    Domain *d = run.domain = calloc(member(lock, "domains", '[')->count, sizeof *d);
    Segment *s = run.segment = calloc(member(lock, "segments", '[')->count, sizeof *s);
    Batch *b = run.batch = calloc(member(lock, "batches", '[')->count, sizeof *b);
    for (j = member(lock, "domains", '[')->child; j; j = j->next, d++, run.domains++) {
        k = member(j, "name", '"');
        *d = (Domain){k->text, k->count, integer(j, "tokens", 0, 1LL << 62), 0, 0, 0, 0, -1};
        if (member(j, "pool_tokens", 0)) d->P = integer(j, "pool_tokens", 1, d->T - 1);
        rule(d->T < run.U || d->P <= d->T / run.U * run.U, "P is at most U * F");
    }
    for (int i = 0; i < 3; i++) run.count[i] = calloc(2 * run.domains, sizeof(Int));
    for (j = member(lock, "segments", '[')->child; j; j = j->next, s++, run.segments++) {
        s->first_step = integer(j, "first_step", run.steps, run.steps);
        run.steps += s->steps = integer(j, "steps", 1, (1LL << 49) - run.steps);
        s->L = integer(j, "sequence_length", 1, run.U);
        if (member(j, "skip", 0)) s->skip = integer(j, "skip", 0, run.segments ? 1LL << 49 : 0);
        s->shift = calloc(run.domains, sizeof(Int)), s->tree = calloc(2 * run.domains, sizeof(Node));
        k = member(j, "weights", '[');
        rule(run.U % s->L == 0 && k->count == run.domains, "U is a multiple of L, every domain has a weight");
        Int i = 0, rest = 1000000000000000;
        for (k = k->child; k; k = k->next)
            rest = rest < 0 || k->number < 0 ? -1 : rest - (s->tree[i++].weight = k->number);
        rule(!rest, "the weights of a segment are integers that sum to 10^15");
    }
    for (j = member(lock, "batches", '[')->child; j; j = j->next, b++, run.batches++) {
        Int least = run.batches ? b[-1].first_step + 1 : 0;
        b->first_step = integer(j, "first_step", least, run.batches ? run.steps - 1 : 0);
        b->B = integer(j, "sequences", 1, 1 << 24);
        if (run.batches) b->position = position_of(b->first_step);
    }
    rule(run.batches && run.segments, "there is a batch and a segment");
    for (s = run.segment; s < run.segment + run.segments; s++) begin_segment(s);
}
static void answer(Int position) {                     /* ---- Section 8: a position */
    const Batch *b = run.batch + run.batches - 1; const Segment *s = run.segment + run.segments - 1;
    if (position < 0 || position >= position_of(run.steps)) fail("not a position of the run", "");
    while (position < b->position) b--;
    Int step = b->first_step + (position - b->position) / b->B, slot = (position - b->position) % b->B;
    while (step < s->first_step) s--;
    Int x = s->O + position - slot - s->position, d = 0;
    Int *from = counts(s, x, run.count[0]), *to = counts(s, x + b->B, run.count[1]);
    Int place = (key("deal", NULL, 1, &step) % b->B + slot * stride(b->B)) % b->B;
    for (; place >= to[d] - from[d]; d++) place -= to[d] - from[d];
    Order o = order_of(&run.domain[d], s->L);
    Int k = s->shift[d] + from[d] + place, n = sequence(o, k);
    printf("%lld\t%lld\t%lld\t%lld\t%lld\t%lld\t%lld\t", position, step, slot, k, k / o.C, n, n * o.L);
    printf("%lld\t", o.L), fwrite(o.d->name, 1, o.d->length, stdout), putchar('\n');
}
int main(int count, char **arguments) {
    static char text[1 << 28];                         /* 256 MB, of which only what the lock needs is used */
    FILE *file = count == 2 ? fopen(arguments[1], "rb") : NULL;
    Int length = file ? fread(at = text, 1, sizeof text - 1, file) : 0, position;
    if (!file || !feof(file)) fail("no lock, or one too large", "schedule_by_the_page LOCK.json < positions");
    read_lock(run.lock = value(0));
    json(take('\0') && at == text + length + 1);
    while (scanf("%lld", &position) == 1) answer(position);
    if (!feof(stdin)) fail("not a position", "");
}
