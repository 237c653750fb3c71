from core.score import *
