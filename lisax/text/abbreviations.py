"""Lists of abbreviations of the common languages, and of words that begin a sentence.

A text's language is not known, and most texts mix names of several, so each list holds for all languages. An
abbreviation that is a frequent word in another language, such as `set` or `sun`, is left out or needs a capital.
"""

# Before a name or an example: these never end a sentence.
LEADING = frozenset(
    """
mr mrs ms dr drs prof profs lt col capt cpt sgt cpl cmdr rev revd msgr messrs mme
mlle mgr sra srta dra dña dn exmo hr fr frl dipl hl dhr mevr mw ir sig sig.ra sig.na dott avv mag mudr judr rndr phdr mvdr
vs cf zob viz e.g i.e n.b p.s z.b d.h u.a o.ä o.a d.w.z t.ex f.eks bl.a d.v.s p.ex m.in т.е напр π.χ δηλ проф акад д-р
डॉ डा प्रो श्री पं
""".split()
)

# Before a number: elsewhere these end a sentence as any word does.
NUMBERED = frozenset(
    """
no nos nr nrs núm num nº p pp pg pág págs pag blz vol vols fig figs abb tab tabl art arts sec secs sect ch chap cap
op eq eqs rte ver ca c approx aprox env circa est pop max min tel ext ste kap febbr kl kb janv févr avr juil sept déc gegr
 č lb lbs oz yd abs par para arr prop amend ord reg doc rm apt bk pt pts ex exs
ст стр рис гл табл разд п пп ок αρ
""".split()
)

# Within a sentence, unless the next word begins one.
INNER = frozenset(
    """
gen maj brig adm hon sen gov rep pres st mt ft jr sr snr jnr esq inc ltd co corp bros mfg llc plc cie dept assn assoc univ inst ave av blvd bd rd hwy pkwy
sq bldg calif conn okla tenn ariz com chr emer med incl excl bzw geb gest verh mio mrd tsd mln mld tys evtl ggf hrsg übers
ee uu ul im ks św sv tzw tzv tj np hab inż dł wg woj např resp esim ts örn cad sok mah tp
им ул пл пер бул просп обл тыс млн млрд св нем англ лат фр
""".split()
)

# The same, if they are written with a capital.
INNER_NAMES = frozenset("MM Fam Mass Mich Minn Wis Fla Colo Penn Wash Ill Ind Gem Gebr Ges Ing Ph".split())

# Of months and days, before a number or another of them.
CALENDAR = frozenset(
    """
Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue Tues Wed Thu Thur Thurs Fri Sat Sun Okt Dez Mär
""".split()
)

# After a German ordinal, `3. Mai`.
MONTHS = frozenset(
    "Januar Jänner Februar Feber März April Mai Juni Juli August September Oktober November Dezember Jahrhundert Jh".split()
)
# Before a German ordinal, `im 19. Jahrhundert`.
BEFORE_ORDINAL = frozenset(
    """
am der die das den dem des vom zum zur im ins beim bis seit ab mein meine meinen meinem meiner sein seine seinen seinem
seiner ihr ihre ihren ihrem ihrer unser unsere unseren jeder jede jedes jeden ein eine einen einem einer als
""".split()
)

ALL = LEADING | NUMBERED | INNER

# Also in capitals, where other words are acronyms, such as `MW` and `CAD`.
SHOUTED = frozenset("mr mrs ms dr st mt jr sr prof inc ltd co corp bros no nos vs ee uu tp".split())

# They begin a sentence even after an initial or a grade, `vitamin C. They`.
OPENING = frozenset(
    """
The It Its He She His Her They Their This That These Those There In On At After When However But Before During Since
Then Later While From As If Nobody Everyone Some Many Most Others Another Because Although Today Now Er Sie Es Elle Ils Elles Он Она Они Его Это
""".split()
)
# They begin a sentence after an abbreviation.
STARTING = OPENING | frozenset(
    """
A An We You Our My And Perhaps For With By All Other One Both Each No
Not Yes So Yet Also Only Under Between Because Such What Who Why How Where Which If Is Was Are Were Until Once Even
Early Two Three Four Five
Der Die Das Ein Eine Im Am Nach Seit Sein Seine Ihr Ihre Dort Dies Diese Dieser Danach Dann Auch Als Auf Mit Bei Heute
Alle Niemand Man Wir Zum Zur Vor Hier
Le La Les Un Une Il On Ce Cette Ces Son Sa Ses En Dans Au Aux Après Depuis Mais
El Los Las Su Sus Este Esta Estos Fue Era Con Por Desde Después Pero Al Murió Nació España
Lo Gli Nel Nella È Suo Sua Dopo Dal Questo Questa O Os Ele Ela Em No Na Foi
De Het Een Hij Zij Ze Zijn Haar Op Dit Deze Ook Maar Daar Dat
Han Hon Hun Den Det De Dess Hans Hennes Efter Men På Vid Hän Se Kaupunki
Ma Jest On Ona Ono W Na Po Był Była To Jego Jej Zmarł Zmarła Urodził Je Byl Byla V Ve Zemřel Má
В Во На С По После Он Она Оно Они Его Её Это Эта Этот Но А И Из К У Там Умер Умерла Родился Родилась
Він Вона Воно Вони У Його Її Це Той Тя
Ο Η Το Οι Τα Στην Στο Στη Ήταν Έχει Αυτό Αυτός
Bu Şu Onun Ama
""".split()
)

# After a quotation that is a question or an exclamation, `"Why?" Velin asked.`
SAYING = frozenset(
    """
asked said cried replied shouted wrote answered added exclaimed whispered thought explained continued called demanded
inquired insisted declared recalled told wondered yelled screamed muttered
""".split()
)
# Names that end in an exclamation mark.
EXCLAIMING = frozenset("yahoo jeopardy wham panic oklahoma oliver".split())
