import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import net.jpountz.xxhash.XXHash64;
import net.jpountz.xxhash.XXHashFactory;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Reads both sides with Kafka's own client, read_committed, and says of each
 *  partition what became of its records.
 *
 *  The rule: the first occurrences at the target are the source's records, in
 *  the source's order, unchanged in key, value, headers, timestamp and its
 *  type.  What was there before is a repeat, and is counted.  A run of repeats
 *  is one jump back, told as the target offset where it begins and the source
 *  offsets before and after it; a jump forward that is not the next record means that two
 *  writers were at work. */
final class Judge {
    private static final XXHash64 XX =
        XXHashFactory.fastestJavaInstance().hash64();
    private static final int KEY = 0, VALUE = 1, HEADERS = 2, TIME = 3;
    private static final String[] NAMES = { "key", "value", "headers",
        "timestamp" };

    /** The records of one partition, as four digests each. */
    private static final class Log {
        long[] offsets = new long[16];
        long[][] digests = new long[4][16];
        int n;

        void add(ConsumerRecord<byte[], byte[]> record) {
            if (n == offsets.length) {
                offsets = Arrays.copyOf(offsets, n * 2);
                for (int i = 0; i < 4; i++)
                    digests[i] = Arrays.copyOf(digests[i], n * 2);
            }
            offsets[n] = record.offset();
            digests[KEY][n] = digest(record.key());
            digests[VALUE][n] = digest(record.value());
            long headers = 17;
            for (Header header : record.headers()) {
                headers = headers * 31 + digest(header.key().getBytes());
                headers = headers * 31 + digest(header.value());
            }
            digests[HEADERS][n] = headers;
            digests[TIME][n] = record.timestamp() * 4
                + record.timestampType().id;
            n++;
        }

        long whole(int i) {
            long sum = 0;
            for (int k = 0; k < 4; k++)
                sum = (sum ^ digests[k][i]) * 0x9E3779B97F4A7C15L
                    + (sum >>> 29);
            return sum;
        }

        boolean same(int i, Log other, int j) {
            for (int k = 0; k < 4; k++)
                if (digests[k][i] != other.digests[k][j])
                    return false;
            return true;
        }
    }

    private static long digest(byte[] bytes) {
        return bytes == null ? 42 : XX.hash(bytes, 0, bytes.length, 7);
    }

    /** Follows one target partition along its source. */
    private static final class Match {
        final Log source;
        final ObjectNode out = Kit.JSON.createObjectNode();
        final ArrayNode bad = Kit.JSON.createArrayNode();
        final ArrayNode back = Kit.JSON.createArrayNode();
        Map<Long, List<Integer>> index; /* made when first needed */
        int frontier, at = -1; /* the next new one; the last one seen */
        long seen, repeats, leaps, foreign, altered, skipped;
        long longest, run;

        Match(Log source) {
            this.source = source;
        }

        void add(Log one, int i) {
            seen++;
            if (frontier < source.n && one.same(i, source, frontier)) {
                if (at != frontier - 1)
                    leaps++;
                at = frontier++;
                return;
            }
            int old = find(one, i, frontier - 1);
            if (old >= 0)
                repeat(one.offsets[i], old);
            else if ((old = find(one, i, source.n - 1)) >= 0)
                ahead(one, i, old);
            else
                stranger(one, i);
        }

        private void repeat(long target, int old) {
            repeats++;
            if (old == at + 1) {
                run++;
            } else {
                if (old > at)
                    leaps++;
                else
                    back.addArray().add(target).add(source.offsets[at])
                        .add(source.offsets[old]);
                run = 1;
            }
            longest = Math.max(longest, run);
            at = old;
        }

        /** New, but not the next one: what is between is missing or late. */
        private void ahead(Log one, int i, int old) {
            skipped += old - frontier;
            note("offset " + one.offsets[i] + " of the target is source offset "
                + source.offsets[old] + ", expected "
                + source.offsets[frontier]);
            frontier = old + 1;
            at = old;
        }

        private void stranger(Log one, int i) {
            String changed = "";
            int same = 0;

            for (int k = 0; k < 4 && frontier < source.n; k++) {
                if (one.digests[k][i] == source.digests[k][frontier])
                    same++;
                else
                    changed += " " + NAMES[k];
            }
            if (same == 3) {
                altered++;
                note("source offset " + source.offsets[frontier]
                    + " altered at target offset " + one.offsets[i] + ":"
                    + changed);
                at = frontier++;
            } else {
                foreign++;
                note("target offset " + one.offsets[i]
                    + " is no record of the source");
            }
        }

        /** The last index up to `limit` of an equal record, the one that
         *  continues the run before others; -1: none. */
        private int find(Log one, int i, int limit) {
            if (at + 1 <= limit && at >= 0 && one.same(i, source, at + 1))
                return at + 1;
            if (index == null) {
                index = new HashMap<>();
                for (int j = 0; j < source.n; j++)
                    index.computeIfAbsent(source.whole(j),
                        k -> new ArrayList<>(1)).add(j);
            }
            int best = -1;
            for (int j : index.getOrDefault(one.whole(i), List.of()))
                if (j <= limit && one.same(i, source, j))
                    best = Math.max(best, j);
            return best;
        }

        private void note(String text) {
            if (bad.size() < 5)
                bad.add(text);
        }

        ObjectNode report() {
            long missing = skipped + source.n - frontier;

            if (frontier < source.n)
                note("ends before source offset " + source.offsets[frontier]);
            out.put("source", source.n).put("seen", seen)
                .put("repeats", repeats).put("runs", back.size())
                .put("longest", longest).put("leaps", leaps)
                .put("missing", missing).put("altered", altered)
                .put("foreign", foreign);
            out.set("bad", bad);
            out.set("back", back);
            return out;
        }
    }

    private static KafkaConsumer<byte[], byte[]> consumer(JsonNode cluster,
        String isolation) {
        Map<String, Object> config = Kit.client(cluster);

        config.put("isolation.level", isolation);
        config.put("enable.auto.commit", false);
        config.put("auto.offset.reset", "none");
        config.put("fetch.max.bytes", 16 << 20);
        config.put("max.partition.fetch.bytes", 2 << 20);
        config.put("max.poll.records", 20000);
        return new KafkaConsumer<>(config, new ByteArrayDeserializer(),
            new ByteArrayDeserializer());
    }

    private static List<TopicPartition> parts(
        KafkaConsumer<byte[], byte[]> consumer, String topic) {
        List<TopicPartition> parts = new ArrayList<>();

        /* partitionsFor() would answer from what it knew, for minutes. */
        consumer.listTopics().getOrDefault(topic, List.of()).stream()
            .sorted((a, b) -> a.partition() - b.partition())
            .forEach(p -> parts.add(
                new TopicPartition(topic, p.partition())));
        return parts;
    }

    private static boolean done(KafkaConsumer<byte[], byte[]> consumer,
        Map<TopicPartition, Long> ends) {
        for (Map.Entry<TopicPartition, Long> end : ends.entrySet())
            if (consumer.position(end.getKey()) < end.getValue())
                return false;
        return true;
    }

    private static Map<Integer, Log> readAll(JsonNode cluster, String topic,
        JsonNode from) {
        Map<Integer, Log> logs = new HashMap<>();

        try (KafkaConsumer<byte[], byte[]> consumer =
                 consumer(cluster, "read_committed")) {
            List<TopicPartition> parts = parts(consumer, topic);
            consumer.assign(parts);
            consumer.seekToBeginning(parts);
            for (TopicPartition part : parts) {
                logs.put(part.partition(), new Log());
                JsonNode start = from.get(Integer.toString(part.partition()));
                if (start != null)
                    consumer.seek(part, start.asLong());
            }
            Map<TopicPartition, Long> ends = consumer.endOffsets(parts);
            while (!done(consumer, ends))
                for (ConsumerRecord<byte[], byte[]> record :
                    consumer.poll(Duration.ofMillis(200)))
                    if (record.offset() < ends.get(new TopicPartition(topic,
                            record.partition())))
                        logs.get(record.partition()).add(record);
        }
        return logs;
    }

    /** Reads the source to its end as it is now, then follows the target until
     *  everything is there or nothing new came for `idle_ms`. */
    static JsonNode compare(JsonNode ask) {
        Map<Integer, Log> sources = readAll(ask.get("source"),
            ask.get("topic").asText(), ask.path("from"));
        Map<Integer, Match> matches = new HashMap<>();
        ArrayNode out = Kit.JSON.createArrayNode();

        sources.forEach((part, log) -> matches.put(part, new Match(log)));
        follow(ask, matches);
        matches.keySet().stream().sorted().forEach(
            part -> out.add(matches.get(part).report()));
        return out;
    }

    private static boolean complete(Map<Integer, Match> matches) {
        return matches.values().stream().allMatch(
            m -> m.frontier == m.source.n);
    }

    private static void follow(JsonNode ask, Map<Integer, Match> matches) {
        long idle = ask.path("idle_ms").asLong(30000);
        String topic = ask.get("target_topic").asText();

        try (KafkaConsumer<byte[], byte[]> consumer =
                 consumer(ask.get("target"), "read_committed")) {
            consumer.listTopics(); /* connected: the clock starts here */
            long moved = System.nanoTime();
            List<TopicPartition> parts = List.of();
            boolean whole = false;
            while (!whole && (System.nanoTime() - moved) / 1000000 < idle) {
                List<TopicPartition> now = parts(consumer, topic);
                if (now.size() != parts.size())
                    assign(consumer, now, parts);
                parts = now;
                if (parts.isEmpty()) {
                    nap();
                    if (complete(matches))
                        return; /* nothing was to come */
                    continue;
                }
                for (int i = 0; i < 20 && !whole; i++) {
                    if (take(consumer, matches))
                        moved = System.nanoTime();
                    whole = complete(matches);
                }
            }
            Map<TopicPartition, Long> ends = consumer.endOffsets(parts);
            while (!done(consumer, ends))
                take(consumer, matches);
        }
    }

    private static void nap() {
        try {
            Thread.sleep(100);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void assign(KafkaConsumer<byte[], byte[]> consumer,
        List<TopicPartition> now, List<TopicPartition> before) {
        List<TopicPartition> added = new ArrayList<>(now);

        added.removeAll(before);
        consumer.assign(now);
        consumer.seekToBeginning(added);
    }

    private static boolean take(KafkaConsumer<byte[], byte[]> consumer,
        Map<Integer, Match> matches) {
        boolean any = false;
        Log one = new Log();

        for (ConsumerRecord<byte[], byte[]> record :
            consumer.poll(Duration.ofMillis(100))) {
            one.n = 0;
            one.add(record);
            matches.computeIfAbsent(record.partition(),
                p -> new Match(new Log())).add(one, 0);
            any = true;
        }
        return any;
    }

    /** Everything of a topic, in full, for small ones. */
    static JsonNode read(JsonNode ask) {
        ArrayNode out = Kit.JSON.createArrayNode();

        try (KafkaConsumer<byte[], byte[]> consumer = consumer(
                 ask.get("cluster"),
                 ask.path("isolation").asText("read_committed"))) {
            List<TopicPartition> parts = parts(consumer,
                ask.get("topic").asText());
            consumer.assign(parts);
            consumer.seekToBeginning(parts);
            Map<TopicPartition, Long> ends = consumer.endOffsets(parts);
            while (!done(consumer, ends))
                for (ConsumerRecord<byte[], byte[]> record :
                    consumer.poll(Duration.ofMillis(100)))
                    out.add(show(record));
        }
        return out;
    }

    private static ObjectNode show(ConsumerRecord<byte[], byte[]> record) {
        ObjectNode out = Kit.JSON.createObjectNode();
        ArrayNode headers = out.putArray("headers");

        out.put("partition", record.partition()).put("offset", record.offset())
            .put("timestamp", record.timestamp())
            .put("key", text(record.key())).put("value", text(record.value()));
        for (Header header : record.headers())
            headers.addArray().add(header.key()).add(text(header.value()));
        return out;
    }

    private static String text(byte[] bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }
}
