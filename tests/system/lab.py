"""What most tests do: topics at the source, one flow, one agent, the judge."""

import policyfile


class Lab:
    def __init__(self, source, target, kit, agents, unique):
        self.source, self.target, self.kit = source, target, kit
        self.agents, self.unique = agents, unique
        self.flow = unique
        self.group = f"kedge.plant7.{unique}"
        self.ledger = f"kedge.plant7.{unique}.ledger"
        self.pattern = rf"{unique}\..*"

    def name(self, word):
        return f"{self.unique}.{word}"

    def topic(self, word, partitions=1, cluster=None, **configs):
        name = self.name(word)
        self.kit.create(cluster or self.source, name, partitions=partitions,
                        **configs)
        return name

    def policy(self, include=None, side=None, source_side=None, **flow):
        """One flow of plant7's topics to the cloud."""
        return policyfile.text(
            {"plant7": source_side or policyfile.source_side(self.source),
             "cloud": side or policyfile.target_side(self.target)},
            {self.flow: policyfile.flow(include or [self.pattern], **flow)},
            "{socket}")

    def start(self, include=None, name=None, ready=True, options=(), **more):
        return self.agents.start(self.policy(include, **more), name, ready,
                                 options=options)

    def load(self, topics, partitions, records, **more):
        return self.kit.load(self.source, topics, partitions, records, **more)

    def produce(self, topic, records, **more):
        return self.kit.produce(self.source, topic, records, **more)

    def judge(self, topic, copy=None, target=None, **more):
        verdict = self.kit.compare(self.source, topic, target or self.target,
                                   copy or f"plant7.{topic}", **more)
        print(verdict)
        return verdict

    def delivered(self, topic, records=None, repeats=True, **more):
        """The judge's word that all of it is there, and rightly."""
        return self.judge(topic, **more).assert_delivered(records, repeats)

    def evict(self):
        """The group forgets a killed member at once, not after 30 s."""
        self.kit.evict(self.target, self.group)

    def copy_ends(self, topic):
        """Where the partitions of the copy end; [] while there is none."""
        name = f"plant7.{topic}"
        if name not in self.kit.topics(self.target):
            return []
        return self.kit.ends(self.target, name)["stable"]

    def copied(self, topic):
        """Records at the target; 0 when there is no such topic yet."""
        name = f"plant7.{topic}"
        if name not in self.kit.topics(self.target):
            return 0
        ends = self.kit.ends(self.target, name)
        return sum(ends["stable"]) - sum(ends["first"])
