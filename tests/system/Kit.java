import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/** What the tests ask of the clusters, by Kafka's own client: one request a
 *  line on stdin, one answer a line on stdout, each request on a thread of its
 *  own.  Python's side is kit.py, which names the requests. */
public final class Kit {
    static final ObjectMapper JSON = new ObjectMapper();
    private final Map<String, Admin> admins = new ConcurrentHashMap<>();
    private final Load load = new Load();

    interface Op {
        JsonNode run(JsonNode ask) throws Exception;
    }

    private final Map<String, Op> ops = new HashMap<>();

    private Kit() {
        ops.put("create", this::create);
        ops.put("grow", this::grow);
        ops.put("delete", this::delete);
        ops.put("configure", this::configure);
        ops.put("delete_records", this::deleteRecords);
        ops.put("topics", this::topics);
        ops.put("describe", this::describe);
        ops.put("ends", this::ends);
        ops.put("group", this::group);
        ops.put("evict", this::evict);
        ops.put("acl", this::acl);
        ops.put("scram", this::scram);
        ops.put("produce", load::produce);
        ops.put("txn", load::txn);
        ops.put("load", load::load);
        ops.put("stop_load", load::stop);
        ops.put("read", Judge::read);
        ops.put("compare", Judge::compare);
    }

    /** Properties of the cluster that a request is about. */
    static Map<String, Object> client(JsonNode cluster) {
        Map<String, Object> config = new HashMap<>();
        cluster.properties().forEach(
            e -> config.put(e.getKey(), e.getValue().asText()));
        return config;
    }

    private Admin admin(JsonNode ask) {
        return admins.computeIfAbsent(ask.get("cluster").toString(),
            key -> Admin.create(client(ask.get("cluster"))));
    }

    private static Map<String, String> texts(JsonNode node) {
        Map<String, String> map = new HashMap<>();
        if (node != null)
            node.properties().forEach(
                e -> map.put(e.getKey(), e.getValue().asText()));
        return map;
    }

    private JsonNode create(JsonNode ask) throws Exception {
        List<NewTopic> topics = new ArrayList<>();
        for (JsonNode name : ask.get("names"))
            topics.add(new NewTopic(name.asText(),
                Optional.of(ask.get("partitions").asInt()), Optional.empty())
                .configs(texts(ask.get("configs"))));
        admin(ask).createTopics(topics).all().get();
        for (JsonNode name : ask.get("names"))
            await(ask, name.asText(), ask.get("partitions").asInt());
        return null;
    }

    /** Until every partition has a leader that answers for it. */
    private void await(JsonNode ask, String topic, int n) throws Exception {
        while (!led(ask, topic, n))
            Thread.sleep(20);
        offsets(ask, one(ask, topic), OffsetSpec.latest(), false);
    }

    private boolean led(JsonNode ask, String topic, int n) throws Exception {
        try {
            List<TopicPartitionInfo> parts = one(ask, topic).partitions();
            return parts.size() == n && parts.stream().allMatch(
                p -> p.leader() != null && !p.leader().isEmpty());
        } catch (java.util.concurrent.ExecutionException e) {
            return false;
        }
    }

    private TopicDescription one(JsonNode ask, String topic) throws Exception {
        return admin(ask).describeTopics(List.of(topic)).allTopicNames().get()
            .get(topic);
    }

    private JsonNode grow(JsonNode ask) throws Exception {
        String topic = ask.get("topic").asText();
        int n = ask.get("partitions").asInt();

        admin(ask).createPartitions(Map.of(topic, NewPartitions.increaseTo(n)))
            .all().get();
        await(ask, topic, n);
        return null;
    }

    private JsonNode delete(JsonNode ask) throws Exception {
        admin(ask).deleteTopics(List.of(ask.get("topic").asText())).all().get();
        return null;
    }

    private JsonNode configure(JsonNode ask) throws Exception {
        List<AlterConfigOp> changes = new ArrayList<>();
        texts(ask.get("configs")).forEach((key, value) -> changes.add(
            new AlterConfigOp(new ConfigEntry(key, value),
                AlterConfigOp.OpType.SET)));
        admin(ask).incrementalAlterConfigs(Map.of(ask.has("topic")
            ? new ConfigResource(ConfigResource.Type.TOPIC,
                ask.get("topic").asText())
            : new ConfigResource(ConfigResource.Type.BROKER,
                ask.get("broker").asText()), changes)).all().get();
        return null;
    }

    private JsonNode scram(JsonNode ask) throws Exception {
        admin(ask).alterUserScramCredentials(List.of(
            new UserScramCredentialUpsertion(ask.get("user").asText(),
                new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096),
                ask.get("password").asText()))).all().get();
        return null;
    }

    private JsonNode deleteRecords(JsonNode ask) throws Exception {
        TopicPartition tp = new TopicPartition(ask.get("topic").asText(),
            ask.get("partition").asInt());
        admin(ask).deleteRecords(Map.of(tp,
            RecordsToDelete.beforeOffset(ask.get("before").asLong()))).all()
            .get();
        return null;
    }

    private JsonNode topics(JsonNode ask) throws Exception {
        ArrayNode out = JSON.createArrayNode();
        admin(ask).listTopics(new ListTopicsOptions().listInternal(true))
            .names().get().stream().sorted().forEach(out::add);
        return out;
    }

    private JsonNode describe(JsonNode ask) throws Exception {
        TopicDescription topic = one(ask, ask.get("topic").asText());
        ObjectNode out = JSON.createObjectNode();
        ConfigResource key = new ConfigResource(ConfigResource.Type.TOPIC,
            topic.name());

        out.put("id", topic.topicId().toString());
        ArrayNode leaders = out.putArray("leaders");
        ArrayNode replicas = out.putArray("replicas");
        for (TopicPartitionInfo part : topic.partitions()) {
            leaders.add(part.leader() == null ? -1 : part.leader().id());
            replicas.add(part.replicas().size());
        }
        ObjectNode configs = out.putObject("configs");
        admin(ask).describeConfigs(List.of(key)).all().get().get(key).entries()
            .forEach(e -> configs.put(e.name(), e.value()));
        return out;
    }

    private JsonNode ends(JsonNode ask) throws Exception {
        TopicDescription topic = one(ask, ask.get("topic").asText());
        ObjectNode out = JSON.createObjectNode();

        out.set("first", offsets(ask, topic, OffsetSpec.earliest(), false));
        out.set("high", offsets(ask, topic, OffsetSpec.latest(), false));
        out.set("stable", offsets(ask, topic, OffsetSpec.latest(), true));
        return out;
    }

    private ArrayNode offsets(JsonNode ask, TopicDescription topic,
        OffsetSpec spec, boolean committed) throws Exception {
        Map<TopicPartition, OffsetSpec> want = new HashMap<>();
        for (TopicPartitionInfo part : topic.partitions())
            want.put(new TopicPartition(topic.name(), part.partition()), spec);
        Map<TopicPartition, ListOffsetsResult.ListOffsetsResultInfo> found =
            admin(ask).listOffsets(want, new ListOffsetsOptions(committed
                ? IsolationLevel.READ_COMMITTED
                : IsolationLevel.READ_UNCOMMITTED)).all().get();
        ArrayNode out = JSON.createArrayNode();
        for (TopicPartitionInfo part : topic.partitions())
            out.add(found.get(new TopicPartition(topic.name(),
                part.partition())).offset());
        return out;
    }

    private JsonNode group(JsonNode ask) throws Exception {
        String group = ask.get("group").asText();
        ObjectNode out = JSON.createObjectNode();
        ObjectNode offsets = out.putObject("offsets");
        ObjectNode members = out.putObject("members");

        new TreeMap<>(admin(ask).listConsumerGroupOffsets(group)
            .partitionsToOffsetAndMetadata().get().entrySet().stream()
            .filter(e -> e.getValue() != null)
            .collect(java.util.stream.Collectors.toMap(
                e -> e.getKey().toString(), e -> e.getValue().offset())))
            .forEach(offsets::put);
        try {
            admin(ask).describeConsumerGroups(List.of(group)).all().get()
                .get(group).members().forEach(m -> {
                    ArrayNode parts = members.putArray(m.consumerId());
                    m.assignment().topicPartitions().stream()
                        .map(TopicPartition::partition).sorted()
                        .forEach(parts::add);
                });
        } catch (java.util.concurrent.ExecutionException e) {
            if (!(e.getCause() instanceof
                    org.apache.kafka.common.errors.GroupIdNotFoundException))
                throw e;
        }
        return out;
    }

    /** Takes all members out of a group, so that a test does not have to wait
     *  for the session of one that was killed to run out. */
    private JsonNode evict(JsonNode ask) throws Exception {
        try {
            admin(ask).removeMembersFromConsumerGroup(
                ask.get("group").asText(),
                new RemoveMembersFromConsumerGroupOptions()).all().get();
        } catch (java.util.concurrent.ExecutionException e) {
            return JSON.getNodeFactory().textNode(e.getCause().toString());
        }
        return null;
    }

    private JsonNode acl(JsonNode ask) throws Exception {
        admin(ask).createAcls(List.of(new AclBinding(
            new ResourcePattern(
                ResourceType.fromString(ask.get("resource").asText()),
                ask.get("name").asText(), PatternType.LITERAL),
            new AccessControlEntry(ask.get("principal").asText(), "*",
                AclOperation.fromString(ask.get("operation").asText()),
                AclPermissionType.fromString(ask.get("permission").asText())))))
            .all().get();
        return null;
    }

    private void answer(String line) {
        ObjectNode out = JSON.createObjectNode();

        try {
            JsonNode ask = JSON.readTree(line);
            out.set("id", ask.get("id"));
            out.set("result", ops.get(ask.get("op").asText()).run(ask));
        } catch (Exception e) {
            Throwable cause = e instanceof
                java.util.concurrent.ExecutionException ? e.getCause() : e;
            out.put("error", cause.toString());
            cause.printStackTrace();
        }
        synchronized (System.out) {
            System.out.println(out);
            System.out.flush();
        }
    }

    public static void main(String[] args) throws Exception {
        Kit kit = new Kit();
        ExecutorService threads = Executors.newCachedThreadPool();
        BufferedReader in = new BufferedReader(
            new InputStreamReader(System.in));

        for (String line; (line = in.readLine()) != null;) {
            String ask = line;
            threads.execute(() -> kit.answer(ask));
        }
        System.exit(0);
    }
}
