"""Stop words, with a list for each use: a word without meaning for an index may decide the reference of a date."""

# Lucene's English stop words, which BM25 with an English analyser leaves out.
INDEX_STOP_WORDS = frozenset(
    """
a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to
was will with
""".split()
)

# Ignored among the content words of a dated event: `no` and `not` count as content there.
EVENT_STOP_WORDS = frozenset(
    """
a an the and or of in on at to by for with from as into onto over under up out off about than then there it its he
she they his her their this that these those who whom whose which what when where while is are was were be been
being has have had do does did also s one during within since until till before after between both some such so very
there first just own ever more most ad bc year years decade century
""".split()
)

# Not names, and allowed to be added when facts are written as a sentence.
FUNCTION_WORDS = frozenset(
    """
a an the this that these those and or nor but of in on at by for from to with without into as is are was were be
been being has have had do does did it its he she his her him they their them who whose which what when where there
not no than then also both each such after before during between under over about through up out
""".split()
)

# Words that begin a sentence with a capital and are not names.
COMMON_WORDS = frozenset(
    """
a about above after again all almost alone along already also although always am among an and another any anyone
anything are around as at away back based be because been before being below between beyond born both but by called
can certain contrary could currently deaf dead despite did do does doing during each early either else even ever
every everyone everything exactly few film films first following for former formerly from full furthermore generally
given had half has have having he hence her here hers herself him himself his historically how however i if in
indeed initially instead into is it its itself just last late later least less like many marriage may maybe me
meanwhile members might mine more moreover most mostly much music must my neither never nevertheless no nobody none
nor not nothing now nowhere of off often on once one only onto or originally other others otherwise our out over own
part people perhaps possibly previously prior rarely recently same second several shall she should similarly since
so some someone something sometimes soon still subsequently such than that the their theirs them themselves then
there therefore these they third this those though through throughout thus to today together too toward towards two
ultimately under unlike unless until up upon us usually very was we were what when whenever where whereas whether
which while who whole whom whose why will with within without women would yes yet you your yours men children actor
actors actress actresses singers writers scientists players
""".split()
)

# Capitalised words of dates and numbers, which are not names either.
DATE_WORDS = frozenset(
    """
january february march april may june july august september october november december monday tuesday wednesday
thursday friday saturday sunday century millennium one two three four five six seven eight nine ten eleven twelve
twenty thirty hundred thousand million billion first second third fourth fifth
""".split()
)
