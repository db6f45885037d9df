"""Random programs of all that can be done with reaper, by writers, readers, workers, operators and accidents.

Every move draws plain numbers and takes what they point at among what there is: a program that is drawn again
is the same program. All moves are drawn by one rule, for a program needs many of them to get anywhere, and
hypothesis would leave most of its rules out of most programs.
"""

from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.support.programs.accident_rules import Accidents
from tests.support.programs.copy_rules import Copiers
from tests.support.programs.reader_rules import Readers
from tests.support.programs.rules import CONTENTS, LIVES, Call, calls
from tests.support.programs.service_rules import Services
from tests.support.programs.worker_rules import Workers
from tests.support.programs.writer_rules import Writers

FEW = 4


class Program(Writers, Readers, Workers, Services, Copiers, Accidents, RuleBasedStateMachine):
    """One program; its model is given to it by the test."""

    began = False

    @initialize()
    def begin(self) -> None:
        """In an empty model."""
        self.model.begin()
        self.writers, self.workers, self.leases, self.copiers = {}, {}, {}, {}
        self.entries = None
        self.graves, self.lost_leases, self.landing = [], [], []
        self.began = True

    @rule(call=calls(Writers, Readers, Workers, Services, Copiers, Accidents))
    def do(self, call: Call) -> None:
        """One move; where there is nothing to do for it, something is done so that there will be."""
        living = len(self.model.living())
        if call.move.when(self):
            getattr(self, call.move.name)(**call.arguments)
        elif living < FEW:
            self.put(living, living % CONTENTS, LIVES[living % len(LIVES)])
        else:
            self.work(slot=0, limit=3, end="well", tried=True, directly=False)

    @invariant()
    def all_is_well(self) -> None:
        """After each step."""
        if self.began:
            self.model.seen["steps"] += 1
            self.model.look()

    def teardown(self) -> None:
        """When all faults are over and everybody does their work, nothing is left but what lives."""
        if self.began:
            for slot in list(self.writers):
                self.leave(slot)
            self.leave_copies()
            self.model.settle()
