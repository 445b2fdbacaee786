#include "codes.h"

#include <string.h>
#include <strings.h>

static const struct code codes[] = {
    { "KP001", "not readable as YAML",
        "Nothing behind this place can be relied on, so nothing of the file "
        "is used.",
        "Look at the place and the line above it: indentation, a missing ':' "
        "or quote, a bracket that is not closed." },
    { "KP002", "a key twice in one map",
        "Most readers take one of the two in silence, and not all the same "
        "one.",
        "Keep one of them." },
    { "KP003", "an anchor or an alias",
        "Values that stand elsewhere are overlooked when the file is read or "
        "changed, and they can be nested until memory ends.",
        "Write the value where it is used.  Text that begins with '&' or '*' "
        "goes into quotes." },
    { "KP004", "a tag",
        "The setting decides what type its value has; a tag could only "
        "disagree.",
        "Take it out.  Text that begins with '!' goes into quotes." },
    { "KP005", "several documents",
        "One of them would be used and the others would be ignored.",
        "Keep one document in the file." },
    { "KP006", "a tab",
        "How far a tab moves differs from editor to editor, and YAML does not "
        "allow it for indentation.",
        "Use spaces." },
    { "KP007", "too large",
        "A policy is written and read by people; limits keep a mistake from "
        "using up memory: 256 KiB, 10000 values, 2048 bytes in one value.",
        "Use patterns instead of long lists of topics." },
    { "KP008", "a byte or character that is not text",
        "Control and invisible characters make a file look different from "
        "what it says.",
        "Save the file as UTF-8 without a byte order mark (BOM), and take the "
        "character out." },
    { "KP009", "a key that is not a plain word",
        "Maps and lists cannot be the name of a setting.",
        "Write 'key: value'." },
    { "KP010", "a value over several lines",
        "Where such a text ends, and which line breaks are part of it, is "
        "easy to get wrong.",
        "Write it on one line." },
    { "KP011", "no map of settings",
        "A policy begins with 'version: 1' and is a map; this file is empty, "
        "or a list, or one text.",
        "Begin with the example of kedge.policy(5)." },
    { "KP012", "nested too deeply",
        "No setting stands that deep; usually a bracket is not closed.",
        "Close it." },
    { "KP013", "a directive",
        "A line that starts with '%' changes how YAML is read.",
        "Take it out." },
    { "KP020", "an unknown key",
        "A misspelt setting that is ignored leaves the default in force, and "
        "nobody is told.",
        "Write the key that is proposed, or one of the list.  Kafka's own "
        "names for brokers, TLS and SASL are answered with those of the "
        "policy." },
    { "KP021", "a key in the wrong section",
        "The setting exists, but here it would have no effect.",
        "Move it to the section that is named." },
    { "KP022", "a required key is missing",
        "There is no default that would be right for everybody.", "Add it." },
    { "KP023", "a map, a list or a text where another is needed",
        "What was meant cannot be told.",
        "Write it in the form that is named." },
    { "KP024", "not one of the words", "Only these have a meaning here.",
        "Choose one." },
    { "KP025", "a number without its unit",
        "30 could be seconds, milliseconds or minutes; 64 could be bytes or "
        "megabytes.",
        "Write the unit: ms s m h d, or B KiB MiB GiB kB MB GB." },
    { "KP026", "not a number, a duration or a size",
        "The value cannot be read as what the setting needs.",
        "Write it as in the example, with a unit where one is needed and "
        "without a blank." },
    { "KP027", "out of range",
        "Beyond these limits the setting does harm or nothing.",
        "Choose a value within the range." },
    { "KP028", "neither true nor false",
        "yes, no, on and off mean different things to different readers of "
        "YAML.",
        "Write true or false." },
    { "KP029", "a name with other characters",
        "Names become parts of topic names, group names and metrics, and a "
        "reason is a word: 1 to 40 of a-z, 0-9 and '-'.",
        "Rename it, here and where it is used." },
    { "KP030", "not in this version",
        "The setting is planned and does nothing yet; accepting it would "
        "promise what is not kept.",
        "Take it out, or use a version that has it." },
    { "KP031", "too few or too many",
        "An empty list selects nothing; one that is too long is slow to "
        "judge.",
        "Name at least one; join long lists into patterns." },
    { "KP032", "an empty text", "Nothing stands between the quotes.",
        "Write the value, or take the key out." },
    { "KP033", "a secret in the policy",
        "The policy is copied, shown and kept in version control; a password "
        "does not belong there.",
        "Put it into a file that only the agent can read, and name the file: "
        "password: {file: /etc/kedge/secrets/NAME}.  Then change the "
        "password." },
    { "KP034", "another version of the format",
        "This kedge reads version 1 only and will not guess.",
        "Write version: 1." },
    { "KP035", "not host:port",
        "A broker's address needs its port; IPv6 addresses stand in brackets.",
        "Write broker1.example:9092, or [2001:db8::1]:9092." },
    { "KP036", "not a date or a time",
        "Where to start, or when something was measured, cannot be guessed.",
        "Write 2026-11-30, or 2026-11-30T21:56:12Z." },
    { "KP037", "not a network",
        "An address without its length does not say which addresses are "
        "meant.",
        "Write 192.0.2.0/24, or 2001:db8::/32." },
    { "KP038", "not an absolute path",
        "The agent's working directory is not the operator's.",
        "Write the path from '/' on." },
    { "KP039", "nothing behind the ':'",
        "An empty value could mean the default, none, or a forgotten line.",
        "Write the value, or take the key out." },
    { "KP040", "no such cluster",
        "The flow names a cluster that the policy does not have.",
        "Write the name of one of the clusters." },
    { "KP041", "the agent is at neither side",
        "An agent reads or writes locally, so that one of the two directions "
        "cannot fail with the link.",
        "Run the agent at the target's site, or at the source's." },
    { "KP042", "placement.runs_at does not fit",
        "The sites say that the agent runs at the other side of the flow; "
        "one of the two is a mistake.",
        "Correct the site that is wrong, or runs_at." },
    { "KP043", "remote producing without a reason",
        "A consumer that cannot connect loses nothing; a producer may.  "
        "Producing over the link is for two reasons only: a firewall that "
        "lets nobody in, or encryption that the source cannot afford.",
        "Write placement.because: firewall (or encryption), or run the agent "
        "at the target's site." },
    { "KP044", "remote producing without an outage budget",
        "While the link is down, the records wait in the source cluster: "
        "somebody has to have decided how long they must be kept there.",
        "Write placement.outage_budget: 72h, and set the topics' retention "
        "accordingly." },
    { "KP045", "acks is not all",
        "A record that one broker alone has acknowledged is lost with that "
        "broker.  Where a flow produces remotely this has to be written down; "
        "a default is not enough.",
        "Write producer.acks: all in the flow." },
    { "KP046", "retries are not unlimited",
        "Nothing counts retries while the link is down, and a record that "
        "was given up is lost.",
        "Write producer.retries: unlimited in the flow." },
    { "KP047", "errors.tolerance is not none",
        "A record that the target refuses would be passed over, and its "
        "position stored as done.",
        "Write errors.tolerance: none in the flow." },
    { "KP048", "weaker than what kedge does",
        "At the target's side these are the defaults, and kedge stays with "
        "them: the weaker word has no effect.",
        "Take it out." },
    { "KP050", "idempotence switched off",
        "A retry could then write a record twice or out of order.",
        "Take enable.idempotence out, or write true." },
    { "KP051", "too many requests in flight",
        "Brokers keep order and uniqueness over five requests of one "
        "connection, not more.",
        "Take max.in.flight.requests.per.connection out, or write 5." },
    { "KP052", "a limit on how long delivery may take",
        "When the time is over the record is dropped, though it only had to "
        "wait for the link.",
        "Take delivery.timeout.ms out, or write unlimited." },
    { "KP053", "a position that may jump",
        "With earliest or latest, a position that is gone is replaced in "
        "silence: records are skipped, or all of them sent again.",
        "Take auto.offset.reset out, or write error.  Where a new flow begins "
        "is topics.start." },
    { "KP054", "checksums are not looked at",
        "A record that was damaged on disk or on the way would be forwarded.",
        "Take check.crcs out, or write true." },
    { "KP055", "positions stored by a timer",
        "A position that is stored before the target has acknowledged loses "
        "what lies between when the agent stops there.",
        "Take enable.auto.commit out, or write false." },
    { "KP056", "TLS older than 1.2", "Older versions have known weaknesses.",
        "Write min_version: \"1.2\" or \"1.3\"." },
    { "KP057", "plaintext to another site",
        "Records and passwords could be read and changed on the way.",
        "Write tls: {ca: FILE} for that cluster.  If it is at the agent's own "
        "site, correct its site." },
    { "KP058", "verification switched off",
        "Whoever answers would be believed to be the cluster.  A handshake "
        "that fails is not mended by not looking.",
        "Take verify out, and name the right authority: tls: {ca: FILE}." },
    { "KP059", "records of aborted transactions",
        "What a producer has taken back would arrive at the target as if it "
        "were meant.",
        "Take isolation.level out, or write read_committed.  A transaction "
        "that is open delays what stands behind it, and no more than that." },
    { "KP060", "because: encryption does not fit",
        "Producing remotely to save the source the work of encryption makes "
        "sense only when the source is read in plaintext and the target "
        "over TLS.",
        "Write because: firewall if that is the reason, or run the agent at "
        "the target's site." },
    { "KP061", "no recent measurement",
        "Runtimes get faster: what encryption cost a year ago says little "
        "about today.",
        "Compare both placements and write placement.measured: {date: "
        "2026-11-30, ratio: 1.8}." },
    { "KP062", "plaintext to a public address",
        "An address that is neither private nor loopback is rarely within "
        "one's own site.",
        "Use TLS, or list the network under plaintext_networks." },
    { "KP063", "a password in the clear",
        "SASL PLAIN sends the password as it is; without TLS anybody on the "
        "way can read it.",
        "Use SCRAM-SHA-512, or TLS." },
    { "KP064",
        "a certificate without its key, or a key without its "
        "certificate",
        "One proves nothing without the other.", "Name both, or neither." },
    { "KP065", "different versions of TLS for one agent",
        "The lowest version is set for the whole process.",
        "Write the same min_version for each cluster." },
    { "KP066", "plaintext_networks for a cluster with TLS",
        "The setting would have no effect.", "Take it out." },
    { "KP070", "source and target are one cluster",
        "What is written would be read again, for ever.",
        "Correct the bootstrap list, or from and to." },
    { "KP071", "records can go round in a circle",
        "Every record would be copied again and again, under longer and "
        "longer names or under its own.",
        "Use rename: {policy: prefix} in each of the flows, whose names say "
        "where a topic came from, or select topics that have nothing in "
        "common: the pattern of one flow, word for word in topics.exclude of "
        "the other, is taken as proof." },
    { "KP072", "two flows may write one topic",
        "Two sources would be mixed in one target topic, and neither could "
        "be checked against it.",
        "Use prefixes, or select topics that have nothing in common: the "
        "pattern of one flow, word for word in topics.exclude of the other, "
        "is taken as proof." },
    { "KP073", "internal topics alone",
        "Topics of Kafka itself, of MirrorMaker 2 and of kedge mean something "
        "at their own cluster only: they are never forwarded, so such a name "
        "or pattern selects nothing.",
        "Take it out." },
    { "KP074", "not a regular expression",
        "The pattern cannot be compiled, so it selects nothing.",
        "Correct it at the place that is shown.  Write it in 'single quotes', "
        "in which a backslash is a backslash." },
    { "KP075", "a wildcard where a regular expression is needed",
        "'*', '+' and '?' say how often what is before them stands: 'tank*' "
        "matches tan, "
        "tank and tankk, and 'batch?' matches batc.  By itself '*' means "
        "nothing.",
        "Write '.*' for any text and '.' for one character: 'tank.*'.  Where a "
        "letter is to be repeated, put it into brackets: 'order(s)?'." },
    { "KP076", "a dot that matches any character",
        "'plant.orders' also matches plantXorders and plant-orders.",
        "Write '\\.' for a dot: 'plant\\.orders'." },
    { "KP077", "included and excluded",
        "Exclude wins, so what is included there is not forwarded.",
        "Keep it in one of the two lists." },
    { "KP078", "a separator that topic names cannot have",
        "Topic names have letters, digits, '.', '_' and '-'.",
        "Write one to eight of '.', '_' and '-'." },
    { "KP079", "a pattern with what no topic name has",
        "Topic names have letters, digits, '.', '_' and '-': with a comma, a "
        "blank or a slash the pattern matches nothing.",
        "Write a list instead of commas: [first, second]." },
    { "KP080", "topics alone that came from the target",
        "A flow with prefixes does not send back what a prefix says came from "
        "there, so the pattern selects nothing.",
        "Take it out, or correct from and to." },
    { "KP081", "fewer than three copies",
        "With one copy, a record is lost with one disk; with two, one broker "
        "that is down stops writing or leaves one copy.",
        "Take replication.factor out, or let the cluster say why: durability: "
        "{replicas: 1, because: single-broker}." },
    { "KP082", "a start that is still to come",
        "What there is when the flow is first started would be passed over, "
        "all of it, as with latest.",
        "Write a time that is over, or latest, which says so; or correct the "
        "clock of this machine." },
    { "KP083", "metrics for everybody",
        "The agent listens to nobody but the machine it runs on.",
        "Write a loopback address, as 127.0.0.1:9464." },
    { "KP084", "the socket's path is too long", "The system allows 107 bytes.",
        "Choose a shorter one." },
    { "KP085", "patterns that take too much work",
        "A pattern that tries the same letters in many ways may need longer "
        "for one name than the whole policy may.",
        "Write it more simply: '[a]+b' for '(a+)+b', or a list of names." },
    { "KP086", "a cluster that no flow uses",
        "It is not connected to; perhaps a flow names another one by "
        "mistake.",
        "Take it out, or use it." },
    { "KP087", "records could come back",
        "What another flow of the policy brought here from the target would be "
        "there twice, or where it does not belong.  A topic whose name says so "
        "is left out: one that the other flow gave a prefix, or that it "
        "includes by name.  Where the names stay as they are and the patterns "
        "of both match, nobody can tell.",
        "Put the pattern that is shown into topics.exclude, or make the "
        "patterns narrower." },
    { "KP090", "a file is missing",
        "The policy names a file that is not there.",
        "Put it there, or correct the path." },
    { "KP091", "a file cannot be read",
        "The file is there, and this user may not read it, it is not a file, "
        "or what is in it is no password.",
        "Correct owner and mode, the agent runs as the user kedge; or put the "
        "password in." },
    { "KP092", "a secret that others can read",
        "A password or key that other users of the machine can read is not a "
        "secret.",
        "chmod 0600 FILE; or, where the agent runs as the user kedge: chown "
        "root:kedge FILE; chmod 0640 FILE.  Then think about replacing it." },
    { "KP093", "a certificate or key that does not work",
        "The handshake would fail at the other end, with less to say about "
        "it.",
        "Do what the text says." },
};

size_t
codes_count(void)
{
    return sizeof codes / sizeof codes[0];
}

const struct code *
codes_at(size_t i)
{
    return &codes[i];
}

const struct code *
codes_find(const char *code)
{
    for (size_t i = 0; i < codes_count(); i++)
        if (strcasecmp(codes[i].code, code) == 0)
            return &codes[i];
    return NULL;
}
