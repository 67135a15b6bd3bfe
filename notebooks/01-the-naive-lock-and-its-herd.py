# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 01 · The naive lock and its herd
#
# *About 20 minutes. You can read this page without running it: every number and picture below was
# made by the code above it, on the machine named in the first table. Run it, and they become
# yours.*
#
# Three questions lead us:
#
# 1. Why is a lock inside one process not enough?
# 2. What does the simplest lock on ZooKeeper look like, line by line?
# 3. What does it cost, and could you have known before measuring?
#
# We start three real ZooKeeper servers. (If `ZKKIT_HOSTS` names servers that run already, those
# are used.)

# %%
from zkkit import notebook
from zkkit.notebook import prediction
from zkkit.show import swimlane

servers = notebook.servers()
notebook.stated(servers)

# %% [markdown]
# ## 1. The shop that oversells (超卖)
#
# Ten items are in stock. A hundred buyers come at the same moment. They are threads in five
# processes, as they would be behind a load balancer. The stock is a number in a ZooKeeper node.
# This is how one of them buys:

# %%
from zkkit.bench.shop import picture, words
from zkkit.bench.shop import run as shop

notebook.Annotated(shop.buy, "01-notes.toml")

# %% [markdown]
# Nothing here is atomic. Two buyers who both see 10 both write 9: two items sold, one taken off
# the shelf.
#
# **Predict by arithmetic, before we measure.**
#
# - *Nothing* keeps them apart: all hundred can look before the first one has paid. Up to 100 items
#   are sold, of 10.
# - *A `threading.Lock`* in each process: inside a process they queue, one sale at a time. But five
#   processes sell side by side. In each round five buyers see the same number, five items are sold,
#   and the number goes down by one. Ten rounds: about 5 × 10 = 50 sold.
# - *A lock that all processes share* (the last two ways): one sale at a time, so 10.

# %%
buyers, processes = notebook.scale(100, small=24), notebook.scale(5, small=4)
sales = [
    shop.sell(servers.hosts, way, items=10, buyers=buyers, processes=processes) for way in shop.WAYS
]
notebook.RichTable(words.HEADERS, [words.cells(sale) for sale in sales])

# %%
notebook.RichPicture(picture.png(sales), words.finding(sales), words.words(sales))

# %% [markdown]
# Look at the column *shelf says*. A shop that oversells does not even notice: its own books look
# fine.
#
# The `threading.Lock` is no weaker than the others; it just lives in the wrong place. It is an
# object in the memory of one process, and no other process can see it. Whatever guards the stock
# must live where all buyers can see it, so we put it where the stock is.
#
# Both locks on ZooKeeper sell exactly ten. So the story could end here, if it were not for the
# last two columns. A *fire* is one watch notification that a server sends to a session. Both locks
# did the same work for the same hundred buyers. One of them made the servers send many times as
# many messages. That difference is what this page is about.

# %% [markdown]
# ## 2. The naive lock, line by line
#
# The idea fits in one sentence: **whoever creates the node holds the lock; all others watch the
# node and try again when it goes.** Three properties of ZooKeeper make it work:
#
# - Of many who create the same node, exactly one succeeds.
# - An *ephemeral* node (临时节点) goes when the session of its owner ends. A crashed holder cannot
#   keep the lock for ever.
# - A *watch* (监听) tells a session, once, that a node has changed or gone.
#
# In zkkit a lock is a *script*: a generator that yields steps ("create this node", "wait") and is
# sent their results. So it reads from top to bottom like the recipe in a book. This is the real
# source of `HerdLock`, not a copy for the lesson:

# %%
from zkkit import HerdLock

notebook.Annotated(HerdLock._contend, "01-notes.toml")

# %% [markdown]
# It uses two scripts that other recipes use as well: one tries to create the node, the other waits
# until it may have gone.

# %%
from zkkit.recipe import create_if_free, wait_for_change

notebook.Annotated(create_if_free, "01-notes.toml")

# %%
notebook.Annotated(wait_for_change, "01-notes.toml")

# %% [markdown]
# ### Be the server
#
# A script never touches a socket, so we can run it without a server: we answer its steps
# ourselves. Somebody else holds the lock; we let the watch fire; then we let it win.

# %%
from zkkit.errors import NodeExists
from zkkit.sim import World
from zkkit.steps import Fire, FireKind, Node, Stat

lock = HerdLock(World().connect(), "/shop")  # in the simulator: nobody but us answers
answers = {
    "a name for this attempt": "7c4e",
    "refused: somebody was quicker": (NodeExists("/shop/lock"),),
    "here is its data, and your watch is set": None,
    "your watch has fired: the node is gone": Fire(FireKind.DELETED, "/shop/lock"),
    "created: it is yours": (Node("/shop/lock", Stat(*range(11))),),  # its numbers do not matter
    "and the servers still keep your session": None,
}
notebook.played(lock._contend(blocking=True), answers)

# %% [markdown]
# The fourth answer is the one to remember. The watch has fired, and the script goes back to the
# top, to the create. It has no other choice: it does not know whether anybody else was woken. They
# all were.

# %% [markdown]
# ## 3. Your guess
#
# One session holds the lock. Fifty contenders, each with a session of its own, wait for it. The
# holder lets go; then each contender gets the lock once, holds it for a moment and lets go.
#
# **How many watches fire in all?** Type a number *before* you read on. It is kept beside this
# notebook, and we come back to it. (`predict(..., again=True)` asks once more. If nobody types, a
# common first guess stands in: one fire for each handoff.)

# %%
contenders = notebook.scale(50, small=8)
guess = prediction.predict(
    "herd-fires",
    f"{contenders} contenders wait for a HerdLock. How many watches fire until all were served?",
    default=contenders,
)
print(guess)

# %% [markdown]
# ## 4. The law
#
# Count it with a pencil. When the holder lets go, N are waiting, and all N watch the same node: N
# fires. One wins, N − 1 set their watch again. When the winner lets go, N − 1 watches fire. Then
# N − 2, and so on, down to 1:
#
# > N + (N − 1) + … + 1 = **N(N+1)/2** fires
#
# And the requests? Everybody tries to create the node once on arriving, and once more after each
# fire:
#
# > N + N(N+1)/2 = **N(N+3)/2** creates, of which only N succeed
#
# This is the **herd effect** (羊群效应, also 惊群效应): every release wakes the whole herd, and one
# sheep gets through the gate.
#
# The other design, the *sequential* lock (顺序节点), gives every contender a numbered node and lets
# each watch only the one before it. Every release fires exactly one watch: N fires in all, N
# creates.

# %%
from zkkit.bench.designs import HERD, SEQUENTIAL

costs = [cost for design in (HERD, SEQUENTIAL) for cost in (design.law.fires, design.law.creates)]
notebook.RichTable(
    ("N", "herd: fires ≤", "herd: creates ≤", "sequential: fires =", "sequential: creates ="),
    [(f"{n}", *(f"{cost.of(n):,}" for cost in costs)) for n in (1, 10, 50, 100)],
    left=0,
)

# %% [markdown]
# A hundred contenders: 5,050 fires against 100. This is arithmetic. It holds on a laptop and in a
# data centre, in Python and in Java.

# %% [markdown]
# ## 5. The measurement
#
# Now we let them queue on the real servers. Fires are counted twice, by two *witnesses* that know
# nothing of each other: the clients count what arrives, the servers count what they send. If the
# two differ, the run is void.

# %%
import textwrap

from zkkit.bench.gate.plan import GatePlan

some = sorted({max(2, contenders * part // 50) for part in (5, 10, 25, 50)})
hold = 0.05  # seconds that each contender holds the lock
plan = GatePlan((HERD, SEQUENTIAL), tuple(some), 2, seed=1, hold=hold)
results = notebook.measured(plan, servers)
print(textwrap.fill(results.head.judgement.why, 68))

# %%
from zkkit.bench.gate import words as findings

wanted = [0, 1, 2, 3, 4, 7, 8]  # of the columns that `zkkit compare` prints
notebook.RichTable(
    [findings.HEADERS[column] for column in wanted],
    [[findings.cells(figure)[column] for column in wanted] for figure in results.figures],
)

# %%
notebook.RichPicture(
    prediction.png(results, guess),
    prediction.finding(results, guess),
    findings.text_table(results),
)

# %% [markdown]
# *fires* is the clients' count, *servers* the servers' own. *useful* is the share of wakeups after
# which the contender got the lock. *overtakings* are pairs served in another order than they came.
# Each run was made twice; where the two differ, both ends are given.
#
# Was your star on a line? Most first guesses lie on the lower one: one handoff, one message. That
# is what a good design costs. The herd's curve bends upwards, because *each* of N releases wakes
# *everybody* who is left.
#
# - The sequential design meets its law exactly, each time.
# - The herd stays at or below its law, which is a bound. A contender that was slow to look again
#   can miss a whole hold: when it looks, the node is free or has the next owner. It then had no
#   watch on the node that went in between, and that watch cannot fire.
# - In a herd the share of useful wakeups falls as the herd grows. Each of the others costs a
#   message, a thread switch and a refused create, for nothing.
# - The queue knows no overtaking. The herd is not fair.

# %% [markdown]
# ## 6. One release, under the microscope
#
# Averages hide what happens. So here is one single release, with ten waiting: one lane for each
# actor, time to the right. Follow the thin lines from the gate's release (the black square).

# %%
from zkkit.bench.gate.gate import Gate
from zkkit.bench.kit.pool import SessionPool
from zkkit.bench.kit.witness import Witness

with SessionPool(servers.hosts, 10) as pool:
    gate = Gate(pool, Witness(servers.hosts), hold=0.15)
    rows = {design.name: gate.run(design, range(10), 0)[1] for design in (HERD, SEQUENTIAL)}

herd, queue = (
    swimlane.one_release(rows[name], names={"MainThread": "gate"})
    for name in ("herd", "sequential")
)
notebook.RichPicture(swimlane.png(herd, beside=queue), swimlane.title(herd), swimlane.words(herd))

# %% [markdown]
# Every orange stretch is work for nothing: a contender is woken (the cross), asks for the node, is
# refused (the circle), and sets its watch again (the open triangle), to be woken for nothing next
# time. Only the blue stretch ends in a grant (the star).
#
# There is a second cost, easy to overlook. The winner's create has to get through the same servers
# at the same moment as all the losers' creates. The herd stands in its own way.
#
# The same moment with the sequential lock, on the same time axis:

# %%
notebook.RichPicture(swimlane.png(queue, beside=herd), swimlane.title(queue), swimlane.words(queue))

# %% [markdown]
# One line, one wakeup, one grant; nine sleep on. Both pictures have the same time axis, so you can
# compare when the lock is held again.

# %% [markdown]
# ## 7. Five questions
#
# Answer first, then unfold.

# %% [markdown]
# **1.** The shop grows: 1,000 contenders wait for one `HerdLock`. How many fires at most? How many
# with the sequential lock?
#
# <details><summary>Answer</summary>
#
# 1,000 × 1,001 / 2 = 500,500 against 1,000. Ten times as many contenders cost the queue ten times
# as much, and the herd about a hundred times as much.
#
# </details>

# %% [markdown]
# **2.** The script leaves its watch with `Get`. ZooKeeper can also watch with `exists`, which works
# for a node that is not there. Why would that be worse here?
#
# <details><summary>Answer</summary>
#
# A waiter that comes too late, when the node has just gone, would leave a watch on the missing
# node, and go on to create it. If another one is quicker, that watch fires: "created". More fires,
# and each says the opposite of what the waiter wants to hear. `Get` on a missing node leaves
# nothing behind.
#
# </details>

# %% [markdown]
# **3.** Suppose the node were persistent, not ephemeral. The lock still works in every run on this
# page. What would go wrong one day?
#
# <details><summary>Answer</summary>
#
# A holder crashes between its create and its delete. Nobody will ever delete the node, and all
# others wait for ever. The ephemeral node goes with the holder's session, at the latest when the
# session timeout has passed.
#
# </details>

# %% [markdown]
# **4.** A contender sits far away; its messages take 50 ms, everybody else's take 1 ms. With the
# herd lock, when does it get the lock?
#
# <details><summary>Answer</summary>
#
# Perhaps never, as long as others keep coming. After each release the first create to arrive wins,
# and its create is always late. Nothing in the script remembers who came first; that is what the
# overtakings in the table count. In the sequential design its node has a number, and it is served
# in its turn.
#
# </details>

# %% [markdown]
# **5.** The herd often fires fewer watches than N(N+1)/2. Has ZooKeeper lost some?
#
# <details><summary>Answer</summary>
#
# No: the servers counted what they sent, the clients what they received, and the two agree. The
# missing ones were never set. A contender that looks again late finds that a whole hold has come
# and gone; on that node it had no watch. Hold the lock longer, and the count comes closer to the
# law.
#
# </details>

# %% [markdown]
# ## 8. What to keep, and what not to believe
#
# **Keep:** a lock must live where all who need it can see it. The naive lock is safe: it never
# oversold. It is not cheap, since a release wakes everybody, and it is not fair. The cost follows
# from the design: you can count it before you run it.
#
# **The counts are exact.** In section 5 two independent witnesses agree on each of them (the shop's
# fires were counted by the servers alone). The queue's count is the same on every machine. The
# herd's depends on how quickly contenders look again, but no machine can push it above its law.
#
# **The times are only this machine's.** Servers and clients shared its cores, and the data lay on
# the medium named below. Who waits for whom, and the shape of a swimlane, carry over; milliseconds
# do not. One run of the shop is one run: without a lock the number sold depends on chance.
#
# **Not shown here:** a holder that is paused for longer than its session timeout can wake up after
# the lock has gone to another. No lock on this page prevents that. It takes a fencing token.
#
# Measured on:

# %%
notebook.RichTable(("", ""), list(findings.facts(results).items()), left=2)

# %% [markdown]
# ## 9. What comes next
#
# - Read the sequential lock: [reentrant.py](../zkkit/recipes/locks/reentrant.py). You know all the
#   steps it is made of. Which line does away with the herd?
# - Measure it further: `zkkit compare --contenders 10,100 --hold 100`, and open the report it
#   writes.
# - Change something: in section 5, *The measurement*, write `hold = 0.0` for `hold = 0.05`. Run
#   that cell and the two below it. Does the herd come closer to its law, or get further away?
#   Predict first.
#
# Thank you for counting with us. Our own servers can go now:

# %%
servers.stop()
