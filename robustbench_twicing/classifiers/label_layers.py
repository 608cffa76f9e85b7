"""Between a network's logits and labels of a data set: layers, through which attacks go, too."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..data.imagenet import NUM_CLASSES, LabelSpace


class Select(nn.Module):
    """Keep the logits of some classes; the attack then sees just what the score sees."""

    classes: Tensor

    def __init__(self, classes: Sequence[int]) -> None:
        super().__init__()
        self.register_buffer("classes", torch.tensor(classes, dtype=torch.long))

    def forward(self, logits: Tensor) -> Tensor:
        """Logits (N, K) to (N, len(classes))."""
        return logits[:, self.classes]


class BestFirst(nn.Module):
    """Every label's best logit first, all others after them: several classes may mean one label.

    Column ``i`` is the largest logit of label ``i``'s classes. The rest of the columns are the
    labels' other logits and those of no label, so that ranks and cross-entropy are over all of the
    network's logits: the label is top-1 just where the largest of all is one of its classes'.

    Args:
        labels: class indices by label, none of them in two labels.
        num_classes: how many logits the network has.
    """

    members: Tensor
    given: Tensor
    rest: Tensor

    def __init__(self, labels: Sequence[Sequence[int]], num_classes: int) -> None:
        super().__init__()
        most = max(len(classes) for classes in labels)
        padded = [[*classes, *[-1] * (most - len(classes))] for classes in labels]
        rest = sorted(set(range(num_classes)) - {index for classes in labels for index in classes})
        members = torch.tensor(padded, dtype=torch.long)
        self.register_buffer("members", members.clamp(min=0))
        self.register_buffer("given", members >= 0)
        self.register_buffer("rest", torch.tensor(rest, dtype=torch.long))

    def forward(self, logits: Tensor) -> Tensor:
        """Logits (N, K) to (N, K), in another order for every image."""
        by_label = logits[:, self.members].masked_fill(~self.given, -torch.inf)
        by_label = by_label.sort(dim=2, descending=True).values
        not_best = by_label[:, :, 1:][:, self.given[:, 1:]]
        return torch.cat([by_label[:, :, 0], not_best, logits[:, self.rest]], 1)


def label_layer(space: LabelSpace) -> nn.Module:
    """The layer that turns 1000 ImageNet logits into logits of a data set's labels."""
    if space.others_count:
        return BestFirst(space.logits, NUM_CLASSES)
    return Select([index for (index,) in space.logits])


def best_placed(logits: Tensor, y: Tensor) -> Tensor:
    """Of right classes (N, M) those with the largest logit (N,), of equals the first; (N,) as is.

    Args:
        logits: (N, K).
        y: class indices, ascending in each row.
    """
    if y.ndim == 1:
        return y
    placed = logits.gather(1, y)
    first = (placed == placed.amax(1, keepdim=True)).int().argmax(1, keepdim=True)
    return y.gather(1, first).squeeze(1)
